"""Statements about the processes that write W&B runs, and about synced copies of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Max

from apps.core.sql import query
from apps.ingest.models import WandbCopy, WandbFile, WandbProcess
from apps.ingest.store import count
from apps.ingest.wandb.lines import NUMBERED
from apps.ingest.wandb.sessions import Told, Trace

MAX_PROCESSES = 10_000
MAX_HELD = 1_000
"""Alerts of one copy that wait for its attempt."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who and where a process says it is; "" for what it does not say."""

    writer_id: str = ""
    node: str = ""
    root: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """One process. writer: "" if it writes its attempt alone. heard_ns: when it last said anything.
    exit_code: it said that it is through."""

    attempt: int
    writer: str
    said: str
    begun: bool
    heard_ns: int
    exit_code: int | None
    identity: Identity


@dataclass(frozen=True, slots=True)
class Copy:
    """One `wandb sync`. attempt: whose lines it repeats, None while that is not known. own: of a
    process that nobody but copies told of. first_lines: file -> its number of the first line.
    writer: under which the lines are stored. rewound: what its process was told, if it rewound the
    run."""

    number: int
    begun_ns: int
    first_lines: Mapping[str, int]
    writer_id: str
    attempt: int | None
    own: bool
    writer: str = ""
    rewound: Told | None = None


def _process(row: WandbProcess | None) -> Process | None:
    if row is None:
        return None
    identity = Identity(row.writer_id, row.node, row.root)
    return Process(
        attempt=row.attempt,
        writer=row.writer,
        said=row.said,
        begun=row.begun,
        heard_ns=row.heard_ns,
        exit_code=row.exit_code,
        identity=identity,
    )


def newest(run_id: int) -> Process | None:
    """The process that began last, of those that write alone. -- uses the primary key"""
    rows = WandbProcess.objects.filter(run_id=run_id, writer="").order_by("-attempt")
    return _process(rows.first())


def lone_attempt(run_id: int, named: int | None) -> int | None:
    """The attempt `named` if a process writes it alone, else the newest one that one writes alone.

    One plain statement, since every body asks for it. -- uses the primary key
    """
    lone = "FROM ingest_wandbprocess WHERE run_id = %s AND writer = ''"
    sql = f"SELECT coalesce((SELECT attempt {lone} AND attempt = %s), (SELECT max(attempt) {lone}))"
    found: int | None = query(sql, [run_id, named, run_id])[0][0]
    return found


def processes(run_id: int, attempt: int | None = None) -> list[Process]:
    """Processes of a run, or of one attempt, oldest first. -- uses the primary key"""
    rows = WandbProcess.objects.filter(run_id=run_id).order_by("attempt", "writer")
    if attempt is not None:
        rows = rows.filter(attempt=attempt)
    return [found for row in rows[:MAX_PROCESSES] if (found := _process(row))]


def node_of(run_id: int, attempt: int, writer: str) -> str:
    """The host of a process, "" if it has not said. -- uses the primary key"""
    rows = WandbProcess.objects.filter(run_id=run_id, attempt=attempt, writer=writer)
    return rows.values_list("node", flat=True).first() or ""


def add_process(run_id: int, attempt: int, said: str, now_ns: int, writer: str = "") -> None:
    """A process of an attempt; one that is there already stays."""
    defaults = {"said": said, "heard_ns": now_ns}
    WandbProcess.objects.get_or_create(
        run_id=run_id, attempt=attempt, writer=writer, defaults=defaults
    )


def hear(run_id: int, attempt: int, writer: str, now_ns: int, *, lines: bool) -> None:
    """A process is alive. lines: it has sent some."""
    begun = {"begun": True} if lines else {}
    rows = WandbProcess.objects.filter(run_id=run_id, attempt=attempt, writer=writer)
    rows.update(heard_ns=now_ns, **begun)


def identify(run_id: int, attempt: int, writer: str, identity: Identity) -> None:
    """Remembers who and where a process says it is."""
    WandbProcess.objects.filter(run_id=run_id, attempt=attempt, writer=writer).update(
        writer_id=identity.writer_id[:64], node=identity.node[:255], root=identity.root[:1_000]
    )


def end_process(run_id: int, attempt: int, writer: str, exit_code: int) -> bool:
    """A process says that it is through; whether it is one that is known."""
    rows = WandbProcess.objects.filter(run_id=run_id, attempt=attempt, writer=writer)
    return bool(rows.update(exit_code=exit_code))


def await_others(run_id: int, attempt: int, *, awaits: bool) -> None:
    """Whether an attempt still has to end, although writers of it are through."""
    rows = WandbProcess.objects.filter(run_id=run_id, attempt=attempt, exit_code__isnull=False)
    rows.update(awaits=awaits)


def awaiting(limit: int = 100) -> list[tuple[int, int]]:
    """(run, attempt) that have not ended with the first of their writers. -- ix_wandb_awaits"""
    rows = WandbProcess.objects.filter(awaits=True).order_by("run_id", "attempt")
    return list(rows.values_list("run_id", "attempt").distinct()[:limit])


def attempt_of_writer(run_id: int, writer_id: str) -> tuple[int, str] | None:
    """Attempt and writer of the process with this id. -- uses the primary key"""
    rows = WandbProcess.objects.filter(run_id=run_id, writer_id=writer_id).order_by("attempt")
    return rows.values_list("attempt", "writer").first()


def known_traces(run_id: int) -> dict[int, dict[str, Trace]]:
    """attempt -> file -> what its lines tell of the process. -- uses the primary key"""
    rows = WandbFile.objects.filter(run_id=run_id, writer="", origin_ns__isnull=False)
    found: dict[int, dict[str, Trace]] = {}
    for row in rows.order_by("attempt", "file")[:2_000]:
        found.setdefault(row.attempt, {})[row.file] = Trace(row.first_ns, row.origin_ns)
    return found


# -- copies


def _copy(row: WandbCopy | None) -> Copy | None:
    if row is None:
        return None
    told = None
    if row.parent is not None and row.step is not None:
        history, events, output = (row.first_lines.get(file, 0) for file in NUMBERED)
        told = Told(row.parent, history, events, output, row.step)
    return Copy(
        number=row.number,
        begun_ns=row.begun_ns,
        first_lines=row.first_lines,
        writer_id=row.writer_id,
        attempt=row.attempt,
        own=row.own,
        writer=row.writer,
        rewound=told,
    )


def copy(run_id: int, number: int) -> Copy | None:
    """One copy. -- uses the primary key"""
    return _copy(WandbCopy.objects.filter(run_id=run_id, number=number).first())


def begin_copy(run_id: int, said: str, told: Told | None, now_ns: int) -> int:
    """The number of a new copy; of the newest one if that said the same and has sent no line.

    Hold the run's row.
    """
    rows = WandbCopy.objects.filter(run_id=run_id)
    last = rows.order_by("-number").first()
    if last is not None and last.said == said and last.attempt is None:
        return last.number
    number = (rows.aggregate(n=Max("number"))["n"] or 0) + 1
    rewound = {"parent": told.attempt, "step": told.step} if told and told.step is not None else {}
    WandbCopy.objects.create(
        run_id=run_id,
        number=number,
        said=said,
        begun_ns=now_ns,
        first_lines=told.lines if told else {},
        **rewound,
    )
    return number


def identify_copy(run_id: int, number: int, writer_id: str) -> None:
    """Remembers the id of the process whose lines the copy repeats."""
    WandbCopy.objects.filter(run_id=run_id, number=number).update(writer_id=writer_id[:64])


def bind_copy(run_id: int, copy: Copy) -> None:
    """From now on it is known whose lines the copy repeats."""
    WandbCopy.objects.filter(run_id=run_id, number=copy.number).update(
        attempt=copy.attempt, own=copy.own, writer=copy.writer
    )


def hold_alert(run_id: int, number: int, body: bytes, at_ns: int) -> bool:
    """Keeps an alert until the attempt of the copy is known, at most MAX_HELD, further ones are
    counted; False if it is known already. Runs in the caller's transaction."""
    row = WandbCopy.objects.select_for_update().get(run_id=run_id, number=number)
    if row.attempt is not None:
        return False
    if len(row.alerts) < MAX_HELD:
        row.alerts = [*row.alerts, [body.decode(), at_ns]]
        row.save(update_fields=["alerts"])
    else:
        count(run_id, {"wandb_alerts": 1, "alerts_not_kept": 1})
    return True


def held_alerts(run_id: int, number: int) -> list[tuple[bytes, int]]:
    """Body and time of the alerts that are kept."""
    rows = WandbCopy.objects.filter(run_id=run_id, number=number)
    kept = rows.values_list("alerts", flat=True).first() or []
    return [(body.encode(), at_ns) for body, at_ns in kept]


def drop_alerts(run_id: int, number: int) -> None:
    """The alerts that were kept are on their way."""
    WandbCopy.objects.filter(run_id=run_id, number=number).update(alerts=[])


def own_copy(run_id: int, attempt: int) -> bool:
    """Whether only copies told of the process of this attempt. -- uses the primary key"""
    return WandbCopy.objects.filter(run_id=run_id, attempt=attempt, own=True).exists()
