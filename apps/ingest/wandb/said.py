"""What the records of a `.wandb` file say, and alerts however they come. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apps.core.records import FindingSeverity, MetricRow
from apps.incidents.domain.script_alert import ScriptAlert

ALERT_LEVELS: Final = {"WARN": FindingSeverity.WARN, "ERROR": FindingSeverity.PAGE}
"""Any other level is information, as at W&B."""
LONGEST_WAIT_MS: Final = 24 * 3_600_000


def wait_ms(said: int) -> int:
    """How long a script wants to be silent after an alert, within bounds."""
    return min(max(said, 0), LONGEST_WAIT_MS)


def cut(text: str, length: int) -> str:
    """The text, at most `length` characters of it."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


@dataclass(frozen=True, slots=True)
class SystemSample:
    """System metrics of one moment, keys "system/<name>". They have a time but no step."""

    time_ns: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """One line the process printed. stream: "stdout" or "stderr". text: without line end."""

    time_ns: int
    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the run record and the environment say; None = not said in these records."""

    run_id: str | None = None
    project: str | None = None
    display_name: str | None = None
    entity: str | None = None
    host: str | None = None
    writer_id: str | None = None
    started_ns: int | None = None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class WandbBody:
    """A posted body, opened. records: protobuf payloads; record i is number first_record + i.

    damaged: places of the file before or among them that could not be read.
    """

    attempt: int
    file: str
    node: str | None
    first_record: int
    time_shift_ns: int
    records: tuple[bytes, ...]
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class WandbBatch:
    """What a sequence of records says, in file order.

    rows: step and time of the history line; see values.Numbers for what counts as a number.
    summary, config: merged updates, strict JSON (non-finite numbers as strings), nested keys
    joined with "/" in summary and as written at the top level of config.
    alerts: what `run.alert` said, at the step and time of the row before; told late, so `copied`.
    skipped: values and records left out, by kind. problems: records that could not be read, with
    their number.
    """

    rows: tuple[MetricRow, ...]
    system: tuple[SystemSample, ...]
    console: tuple[ConsoleLine, ...]
    summary: Mapping[str, Any]
    config: Mapping[str, Any]
    run: RunFacts | None
    exit_code: int | None
    preempting: bool
    alerts: tuple[ScriptAlert, ...]
    skipped: Mapping[str, int]
    problems: tuple[str, ...]
