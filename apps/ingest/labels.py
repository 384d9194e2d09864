"""What the labels of a line say: which run, attempt, rank and node it is of. Plain Python.

Loki writes `k8s_pod_name` for what OpenTelemetry calls `k8s.pod.name` and a shell SLURM_PROCID:
names are compared in lower case, with `_` for all that is neither letter nor digit. A table says
what a name means; the rules of a project come before the built-in ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

MAX_NODE, MAX_SOURCE, MAX_CHANNEL, MAX_LAUNCH, MAX_RUN = 253, 400, 20, 300, 128
MAX_NUMBER = 2**31 - 1
FIELDS: Final = (
    "run", "job_run", "attempt", "launch", "job", "restart", "rank", "local_rank", "node", "source",
    "channel", "step", "level", "time", "text",
)  # fmt: skip
"""What labels may tell. job_run: the run as a scheduler names it, for where nobody says one. job
and restart make up the launch where nobody names it."""
_DIGITS = re.compile(r"\d{1,18}")
_RUN_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ODD = re.compile(r"[^a-z0-9]+")


class Unreadable(ValueError):
    """A value that does not mean what its name says it means."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table. label: normalised name. reads: value -> field -> what it says; raises
    Unreadable."""

    label: str
    reads: Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Said:
    """fields: what was understood (FIELDS). rest: labels that no rule knows, as they came.

    odd: labels that a rule knows and whose value it could not read.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] = field(default_factory=dict)
    odd: tuple[str, ...] = ()


@lru_cache(maxsize=20_000)
def normal(name: str) -> str:
    """The name as rules write it."""
    return _ODD.sub("_", name.lower()).strip("_")


def number(value: str) -> int | None:
    """0..2^31-1; None for -1 and for nothing, which is how senders say that there is none."""
    text = value.strip()
    if text in ("", "-1", "none", "null", "None"):
        return None
    if not _DIGITS.fullmatch(text) or int(text) > MAX_NUMBER:
        raise Unreadable(value)
    return int(text)


def _number_of(field_name: str) -> Callable[[str], Mapping[str, Any]]:
    return lambda value: {field_name: number(value)}


def _step(value: str) -> Mapping[str, Any]:
    if not _DIGITS.fullmatch(value.strip()):
        raise Unreadable(value)
    return {"step": int(value)}


def _text_of(field_name: str, most: int) -> Callable[[str], Mapping[str, Any]]:
    def reads(value: str) -> Mapping[str, Any]:
        text = value.strip().replace("\0", "")
        return {field_name: text[:most]} if text else {}

    return reads


def is_run_key(text: str) -> bool:
    """Whether a run may be called this."""
    return _RUN_KEY.fullmatch(text) is not None


def _run(value: str) -> Mapping[str, Any]:
    key = value.strip()
    if not is_run_key(key):
        raise Unreadable(value)
    return {"run": key}


def _run_and_job(value: str) -> Mapping[str, Any]:
    key = _run(value)["run"]
    return {"job_run": key, "job": key}


def _service(value: str) -> Mapping[str, Any]:
    """SDKs say unknown_service where nobody named it."""
    return {} if value.startswith("unknown_service") else _text_of("source", MAX_SOURCE)(value)


def _torchelastic_run(value: str) -> Mapping[str, Any]:
    """torchrun says "none" unless somebody gave --rdzv-id."""
    if value.strip().lower() in ("", "none"):
        return {}
    return _run_and_job(value)


def _slurm_job(value: str) -> Mapping[str, Any]:
    text = value.strip()
    return {"job_run": _run(f"slurm-{text}")["run"], "job": f"slurm {text}"} if text else {}


_TORCHRUN = re.compile(r"(?:^|/)attempt_\d+/(?P<local>\d{1,6})/(?P<std>std(?:out|err))\.log$")
_SLURM_FILE = re.compile(
    r"(?:^|[/_.-])(?P<job>\d{3,12})(?:\.\d+)?_(?P<task>\d{1,6})\.(?P<end>out|err|log)$"
)
_RANK_FILE = re.compile(
    r"(?:^|[/_.-])(?P<local>local[_-]?)?rank[_-]?(?P<rank>\d{1,7})(?:[_.-](?P<end>\w+))?(?:\.log)?$",
    re.IGNORECASE,
)


@lru_cache(maxsize=20_000)
def of_file(value: str) -> Mapping[str, Any]:
    """What the name of a file tells: torchrun's folders, Slurm's `%j_%t.out`, `rank_003.log`."""
    path = value.strip().replace("\0", "")[-MAX_SOURCE:]
    if not path:
        return {}
    told: dict[str, Any] = {"source": path}
    if found := _TORCHRUN.search(path):
        return told | {"local_rank": int(found["local"]), "channel": found["std"]}
    if found := _RANK_FILE.search(path):
        told["local_rank" if found["local"] else "rank"] = int(found["rank"])
        return told | _channel_of(found["end"] or "")
    if found := _SLURM_FILE.search(path):
        return told | {"rank": int(found["task"])} | _channel_of(found["end"])
    return told | _channel_of(path.rpartition("/")[2].rpartition(".")[2])


def _channel_of(word: str) -> dict[str, Any]:
    if word.lower() in ("err", "stderr"):
        return {"channel": "stderr"}
    return {"channel": "stdout"} if word.lower() in ("out", "stdout") else {}


def _as_is(field_name: str) -> Callable[[str], Mapping[str, Any]]:
    return lambda value: {field_name: value}


def _texts(field_name: str, most: int, *names: str) -> list[Rule]:
    return [Rule(normal(name), _text_of(field_name, most)) for name in names]


def _numbers(field_name: str, *names: str) -> list[Rule]:
    return [Rule(normal(name), _number_of(field_name)) for name in names]


def _runs(*names: str) -> list[Rule]:
    return [Rule(normal(name), _run_and_job) for name in names]


BUILT_IN: Final[tuple[Rule, ...]] = (
    # What a line is.
    *(Rule(normal(n), _as_is("text")) for n in (
        "msg", "message", "body", "log", "text", "line", "event")),
    *(Rule(normal(n), _as_is("time")) for n in (
        "ts", "time", "timestamp", "@timestamp", "time_ns", "_SOURCE_REALTIME_TIMESTAMP",
        "__REALTIME_TIMESTAMP")),
    *(Rule(normal(n), _as_is("level")) for n in (
        "level", "severity", "levelname", "lvl", "severity_text", "log.level", "PRIORITY",
        "detected_level")),
    Rule("step", _step),
    Rule("global_step", _step),
    # Said on purpose.
    *(Rule(normal(n), _run) for n in ("run", "run_key", "lastgood.run")),
    *_numbers("attempt", "attempt", "lastgood.attempt"),
    *_texts("launch", MAX_LAUNCH, "launch", "lastgood.launch"),
    # torchrun, Slurm, MPI.
    *_numbers("rank", "RANK", "lastgood.rank", "global_rank", "process_rank", "SLURM_PROCID",
              "OMPI_COMM_WORLD_RANK", "PMI_RANK"),
    *_numbers("local_rank", "LOCAL_RANK", "lastgood.local_rank", "SLURM_LOCALID",
              "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
    *_numbers("restart", "TORCHELASTIC_RESTART_COUNT", "jobset.sigs.k8s.io/restart-attempt"),
    # The machine, else the pod.
    *_texts("node", MAX_NODE, "node", "lastgood.node", "SLURMD_NODENAME", "k8s.node.name",
            "kubernetes.host", "kubernetes.node_name", "kubernetes.pod_node_name", "node_name",
            "host.name", "hostname", "host", "_HOSTNAME", "nodename", "k8s.pod.name",
            "kubernetes.pod_name", "kubernetes.pod.name", "pod", "pod_name", "instance"),
    # Where a line was printed.
    *(Rule(normal(n), of_file) for n in (
        "filename", "file", "log.file.path", "log.file.name", "source", "lastgood.source")),
    *_texts("source", MAX_SOURCE, "SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "unit", "systemd_unit",
            "k8s.container.name", "kubernetes.container_name", "container", "container_name"),
    Rule(normal("service.name"), _service),
    *_texts("source", MAX_SOURCE, "app", "logger", "logger_name", "job"),
    *_texts("channel", MAX_CHANNEL, "channel", "lastgood.channel", "stream", "log.iostream",
            "_TRANSPORT"),
    # Runs by the name their scheduler knows them by, where nobody says one.
    *_runs("jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name"),
    Rule(normal("TORCHELASTIC_RUN_ID"), _torchelastic_run),
    *_runs("batch.kubernetes.io/job-name", "k8s.job.name"),
    Rule(normal("SLURM_JOB_ID"), _slurm_job),
    # A pod's index is no rank: a pod may have several. A rule of the project may say otherwise.
    *(Rule(normal(n), lambda value: {}) for n in (
        "training.kubeflow.org/replica-index", "batch.kubernetes.io/job-completion-index",
        "SLURM_NODEID", "GROUP_RANK", "NODE_RANK")),
)  # fmt: skip
"""The conventions that are known, most telling first."""

_WRAPPED: Final = re.compile(
    r"^(?:kubernetes|k8s|meta_kubernetes)?_?(?:pod_)?(?:labels?|env|environment)_(?=.)"
    r"|^process_environment_variable_(?=.)"
)
"""Shippers put the labels of a pod, and the environment, below a name of their own."""


class Table:
    """Rules in order; the first that tells a field is believed."""

    def __init__(self, own: Iterable[Rule] = (), built_in: Sequence[Rule] = BUILT_IN) -> None:
        self._by_label: dict[str, list[tuple[int, Rule]]] = {}
        for at, rule in enumerate((*own, *built_in)):
            self._by_label.setdefault(rule.label, []).append((at, rule))

    def understand(self, labels: Mapping[str, Any]) -> Said:
        """What the labels say. Values that are no text are read as their JSON would be.

        Of several names that tell the text, those that lost stay in the rest: nothing of a line is
        hidden. O(labels).
        """
        rest: dict[str, Any] = {}
        known: list[tuple[int, str, Any, Rule]] = []
        for label, value in labels.items():
            rules = self._rules_of(label)
            if not rules:
                rest[label] = value
            known += [(at, label, value, rule) for at, rule in rules]
        known.sort(key=lambda one: one[0])
        return _told(known, rest)

    def _rules_of(self, label: str) -> Sequence[tuple[int, Rule]]:
        name = normal(label)
        found = self._by_label.get(name)
        if found is None and (wrapped := _WRAPPED.match(name)):
            found = self._by_label.get(name[wrapped.end() :])
        return found or ()


def _told(known: Sequence[tuple[int, str, Any, Rule]], rest: dict[str, Any]) -> Said:
    fields: dict[str, Any] = {}
    odd = []
    for _, label, value, rule in known:
        try:
            told = rule.reads(value if isinstance(value, str) else _plain(value))
        except Unreadable:
            odd.append(label)
            rest[label] = value
            continue
        if "text" in told and "text" in fields:
            rest[label] = value
        for name, word in told.items():
            if word is not None:
                fields.setdefault(name, word)
    if "launch" not in fields and "job" in fields:
        fields["launch"] = f"{fields['job']}/{fields.get('restart', 0)}"
    return Said(fields, rest, tuple(odd))


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    return str(value)


DEFAULT: Final = Table()

_LEFT_OUT: Final = (
    "code.", "telemetry.", "process.", "thread.", "otelSpanID", "otelTraceID", "otelTraceSampled",
    "otelServiceName", "observed_timestamp", "taskName", "kubernetes.", "docker.", "logtag",
)  # fmt: skip
"""Beginnings of names that SDKs and shippers put at every line; they say nothing of training."""


def worth_showing(said: Said) -> dict[str, Any]:
    """What of the labels that nobody understands, or that cannot be read, belongs to the line."""
    return {
        name: value
        for name, value in said.rest.items()
        if name in said.odd or not name.startswith(_LEFT_OUT)
    }
