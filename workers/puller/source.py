"""A W&B server (or another Lastgood) as the puller sees it: `wandb.Api` behind a small face."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC
from typing import Any, Final

from apps.core.errors import AppError
from workers.puller.records import Described, Facts, Mark

EVENTS: Final = 10_000
"""Lines of system metrics asked for at once; a server that has more sends a sample of them."""
TAIL: Final = 1_000


class SourceRun:
    """One run of the source. page_steps: steps of history read at once."""

    def __init__(self, run: Any, page_steps: int) -> None:
        self._run, self._page_steps = run, page_steps
        self.facts = Facts(
            id=str(run.id),
            state=str(run.state),
            heartbeat=str(getattr(run, "heartbeat_at", None) or ""),
            lines=int(getattr(run, "history_line_count", None) or 0),
        )

    def described(self) -> Described:
        """Configuration, labels and summary as they are now."""
        run = self._run
        run.load_full_data(force=True)
        config = {name: {"value": value} for name, value in run.rawconfig.items()}
        return Described(
            name=run.name,
            tags=[str(tag) for tag in run.tags or []],
            notes=run.notes,
            group=run.group,
            job_type=run.job_type,
            config=config,
            summary=run.summary_metrics,
        )

    def rows(self, first_step: int) -> Iterator[dict[str, Any]]:
        """Every row of history from a step on, whether it is exported (parquet) or live."""
        size = self._page_steps
        yield from self._run.scan_history(min_step=first_step, page_size=size, use_cache=False)

    def is_there(self, mark: Mark) -> bool:
        """Whether the history has this very row."""
        found = self._run.scan_history(
            min_step=mark.step, max_step=mark.step + 1, page_size=1, use_cache=False
        )
        return any(row.get("_step") == mark.step and row.get("_timestamp") == mark.stamp
                   for row in found)  # fmt: skip

    def events(self, after: float | None) -> list[dict[str, Any]]:
        """Lines of system metrics that are newer, oldest first."""
        found = self._run.history(stream="system", samples=EVENTS, pandas=False)
        new = [line for line in found if after is None or line.get("_timestamp", 0) > after]
        return sorted(new, key=lambda line: float(line.get("_timestamp", 0)))

    def console(self, first: int) -> Iterator[tuple[int, str]]:
        """(number, line as the client sends it) of what was printed from a number on.

        The newest lines in one request if they reach back far enough, else all from the start.
        """
        newest = list(self._run.console_logs(last=TAIL))
        if newest and newest[0].number > first:
            newest = self._run.console_logs(per_page=TAIL)
        yield from ((line.number, _printed(line)) for line in newest if line.number >= first)

    def console_lines(self) -> int:
        """How many lines the console has."""
        newest = list(self._run.console_logs(last=1))
        return newest[-1].number + 1 if newest else 0


def _printed(line: Any) -> str:
    said = {"content": line.content}
    if line.timestamp is not None:
        said["ts"] = line.timestamp.astimezone(UTC).replace(tzinfo=None).isoformat()
    if line.level:
        said["level"] = line.level
    return json.dumps(said)


class Source:
    """One project of a server. entity "": that of the key."""

    def __init__(self, url: str, key: str, path: str, page_steps: int) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")
        try:
            import wandb
        except ImportError as error:
            raise AppError(
                "the package wandb is not installed",
                where="workers.puller",
                hint="pip install 'lastgood[wandb]'; it is needed by the puller only",
            ) from error
        self._api = wandb.Api(overrides={"base_url": url}, api_key=key, timeout=60)
        self._page_steps = page_steps
        entity, _, self.project = path.rpartition("/")
        self.entity = entity or str(self._api.default_entity)
        self.url = url.rstrip("/")

    def runs(self) -> Iterator[SourceRun]:
        """The runs of the project, those heard of last first."""
        found = self._api.runs(
            f"{self.entity}/{self.project}", order="-heartbeat_at", per_page=100, lazy=True
        )
        yield from (SourceRun(run, self._page_steps) for run in found)

    def name_of(self, run_id: str) -> str:
        """The address of a run in words."""
        return f"{self.url}/{self.entity}/{self.project}/{run_id}"
