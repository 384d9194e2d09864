"""What a project has set, in a few words each, and where it is changed; what the site keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from apps.alerts import channels_store, rules_store
from apps.checkpoints import jobs_store
from apps.core.words import many, size
from apps.dashboard.names import NO_PROJECT
from apps.ingest import labels_store
from apps.ingest.services import KEEP_BATCHES
from apps.logs import retention
from apps.logs import store as logs
from apps.logs.domain.chunk.retention import KeepRule
from apps.logs.store import expiring
from apps.metrics import store as metrics
from apps.rollbacks import policies


@dataclass(frozen=True, slots=True)
class Entry:
    """One page of settings. page: its route. says: what counts now. changed_by, changed_at_ns: who
    moved it from what is built in, and when; "" and 0 for nobody. whole: for the whole site."""

    word: str
    page: str
    says: str
    changed_by: str = ""
    changed_at_ns: int = 0
    whole: bool = False


def entries(project: str) -> list[Entry]:
    """The settings of a project, "" for the runs without one. One statement each."""
    return [*_metrics(project), *_logs(project), *_acting(project), *_telling(project)]


def _metrics(project: str) -> Iterator[Entry]:
    named = metrics.naming_of(project)
    said = _list(many(len(named.roles), "role"), many(len(named.rules), "layer rule"))
    says = f"{said} of its own" if named.version else "roles and layers are guessed"
    yield Entry("Metric names", "names", says, named.changed_by, named.changed_at_ns)
    moved = metrics.thresholds_of(project)
    says = f"{many(len(moved.values), 'threshold')} moved" if moved.values else "as built in"
    yield Entry("Detectors", "detectors", says, moved.changed_by, moved.changed_at_ns)
    signals = metrics.signal_rules_of(project)
    says = many(len(signals.patterns), "pattern") if signals.patterns else "no pattern"
    yield Entry("Numbers of ranks", "signals", says, signals.changed_by, signals.changed_at_ns)


def _logs(project: str) -> Iterator[Entry]:
    own = logs.own_classes(project)
    said = _list(f"{len(own.classes)} of its own", f"{len(own.off)} built-in switched off")
    says = said if own.classes or own.off else "as built in"
    yield Entry("Fault classes", "fault_classes", says, own.changed_by, own.changed_at_ns)
    kept = retention.rule_of(project)
    says = kept_words(kept.rule) + ("" if kept.changed_at_ns else ", as the site says")
    yield Entry("Kept logs", "kept", says, kept.changed_by, kept.changed_at_ns)
    labels = labels_store.rules_of(project)
    says = many(len(labels.rules), "rule") if labels.rules else "built-in conventions"
    yield Entry("Labels of shippers", "labels", says, labels.changed_by, labels.changed_at_ns)


def _acting(project: str) -> Iterator[Entry]:
    rules = policies.of_project(project)
    margin = "usual margin"
    if rules.margin_steps is not None:
        margin = f"margin of {rules.margin_steps:,} steps"
    says = f"{margin}, {'a second person approves' if rules.second_approver else 'one person'}"
    yield Entry("Rollback rules", "rollback_rules", says, rules.changed_by, rules.changed_at_ns)
    suites = jobs_store.suites(project)
    says = many(len(suites), "suite") if suites else "no suite: nothing is evaluated by itself"
    yield Entry("Evaluations", "suites", says)


def _telling(project: str) -> Iterator[Entry]:
    channels = sum(one.serves(project) for one in channels_store.channels())
    rules = sum(one.enabled and one.project in ("", project) for one in rules_store.rules())
    says = f"{many(rules, 'rule')} and {many(channels, 'channel')} serve it"
    yield Entry("Alerts", "alerts", says, whole=True)


def _list(*parts: str) -> str:
    """The parts that count something: "2 roles, 1 rule"."""
    return ", ".join(part for part in parts if not part.startswith("0 ")) or "nothing"


def kept_words(rule: KeepRule) -> str:
    """How long and how much: "30 days, 20.0 GiB at most"."""
    days = "for ever" if rule.days is None else many(rule.days, "day")
    return days + (f", {size(rule.most_bytes)} at most" if rule.most_bytes else "")


@dataclass(frozen=True, slots=True)
class Kept:
    """How long something stays on this site. setting: the environment variable that says so."""

    what: str
    says: str
    setting: str = ""


def kept() -> list[Kept]:
    """What the site keeps for how long, where no project says otherwise."""
    return [
        Kept("Metrics", "for ever; small blocks are packed into large ones"),
        Kept("Checkpoints, incidents, orders, audit trail", "for ever"),
        Kept("Log lines", lasting(settings.KEEP_LOGS_DAYS), "KEEP_LOGS_DAYS"),
        Kept("Log lines of a project", _most(settings.LOGS_PROJECT_BYTES), "LOGS_PROJECT_BYTES"),
        Kept("All log lines", _most(settings.LOGS_DISK_BYTES), "LOGS_DISK_BYTES"),
        Kept("Quarantined bodies", lasting(settings.KEEP_QUARANTINE_DAYS), "KEEP_QUARANTINE_DAYS"),
        Kept(
            "Files that W&B runs upload", lasting(settings.KEEP_UPLOADS_DAYS), "KEEP_UPLOADS_DAYS"
        ),
        Kept("Ids of batches, against doubles", many(KEEP_BATCHES.days, "day")),
    ]


def lasting(days: int) -> str:
    """How long: "30 days"; 0 is for ever."""
    return many(days, "day") if days else "for ever"


def _most(most: int) -> str:
    return f"{size(most)} at most" if most else "any size"


def log_rules() -> list[tuple[str, str, str]]:
    """(project as addresses call it, its words, what it keeps of its logs) of each project that
    has a rule of its own."""
    return [
        (name or NO_PROJECT, name or "runs without a project", kept_words(said.rule))
        for name, said in expiring.said_rules()
    ]
