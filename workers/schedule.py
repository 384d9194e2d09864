"""Every periodic task, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apps.core.queue import Job
from apps.runs.domain.contact import LOOK_EVERY_S


@dataclass(frozen=True, slots=True)
class Periodic:
    """A job and how often it runs. why: what would go wrong without it."""

    job: Job
    every_s: float
    why: str


SCHEDULE = (
    Periodic(
        Job.ALERTS_SEND,
        10.0,
        "sends messages whose wake-up was lost with the broker, plans reminders and the closing "
        "messages that wait for their hold time",
    ),
    Periodic(
        Job.ALERTS_DIGEST,
        300.0,
        "plans the daily digest at seven in each recipient's morning; nobody would get one",
    ),
    Periodic(
        Job.DETECT_CATCH_UP,
        10.0,
        "analyses what a writer wrote and then died before analysing; looks again at dead jobs "
        "whose late log lines are still awaited",
    ),
    Periodic(
        Job.RUNS_WATCH,
        LOOK_EVERY_S,
        "looks for runs that have gone silent and for saves that fail or do not come; nothing else "
        "would say so, because nothing arrives",
    ),
    Periodic(
        Job.HOSTS_WEIGH,
        60.0,
        "looks whether an Xid or an alert that came later confirms that a host was to blame; it "
        "would stay a mere suspicion",
    ),
    Periodic(
        Job.CHECKPOINTS_RECHECK,
        300.0,
        "checks checkpoints whose message was lost with the broker; they would stay committed",
    ),
    Periodic(
        Job.EVALUATIONS_PLAN,
        30.0,
        "plans evaluations that are wanted, gives back what a dead evaluator held and wakes "
        "evaluators; nothing would be evaluated",
    ),
    Periodic(
        Job.CHECKPOINTS_SCAN_DUE,
        20.0,
        "sends every storage root that is due to the storage worker; nothing else looks there",
    ),
    Periodic(
        Job.CHECKPOINTS_EXPIRE,
        600.0,
        "plans and carries out what the rules of retention delete; the disk would fill up",
    ),
    Periodic(
        Job.CHECKPOINTS_HASH_DUE,
        60.0,
        "sends full hashes that wait, or whose reader died, to the storage worker",
    ),
    Periodic(
        Job.ROLLBACKS_SYNC,
        60.0,
        "writes or removes order files where a process died between its commit and the file; one "
        "that stays would send every later restart back again",
    ),
    Periodic(
        Job.ROLLBACKS_LAUNCH,
        10.0,
        "goes on with hand-overs whose worker died or whose cluster was busy",
    ),
    Periodic(
        Job.ROLLBACKS_TELL,
        10.0,
        "tells the webhook of orders again, where it was away or a worker died",
    ),
    Periodic(Job.METRICS_COMPACT, 300.0, "merges small metric blocks, so that reading stays fast"),
    Periodic(
        Job.METRICS_GLANCE,
        10.0,
        "makes the curve and the speed that the list of runs shows; it would stand still",
    ),
    Periodic(
        Job.ROLLBACKS_GOODPUT,
        60.0,
        "computes the goodput of 24 hours that the list of runs shows; it would stand still",
    ),
    Periodic(Job.LOGS_MEASURE, 60.0, "measures the log store, so that its budget holds"),
    Periodic(Job.LOGS_MERGE, 20.0, "merges small log chunks: less disk, and fewer to read"),
    Periodic(
        Job.LOGS_LEARN,
        300.0,
        "learns which messages good runs say too; they would not be marked ordinary",
    ),
    Periodic(
        Job.LOGS_DUMPS,
        15.0,
        "judges flight recorder dumps; they would stay without a verdict",
    ),
    Periodic(
        Job.LOGS_RECLASS,
        15.0,
        "gives stored lines the fault classes that a project has changed; verdicts on many lines "
        "would stay with the old ones",
    ),
    Periodic(
        Job.LOGS_EXPIRE,
        600.0,
        "deletes log lines beyond what their project keeps",
    ),
    Periodic(
        Job.LOGS_SWEEP,
        900.0,
        "deletes objects of the log bucket that nothing refers to; they would cost for ever",
    ),
    Periodic(
        Job.RETENTION_EXPIRE,
        3600.0,
        "drops expired sessions and login links, old quarantined bodies and uploaded files; they "
        "would fill the disk in the end",
    ),
    Periodic(
        Job.ACCOUNTS_SEAL,
        300.0,
        "seals new entries of the audit trail and checks older seals; a changed entry would not "
        "be noticed",
    ),
    Periodic(Job.INGEST_FORGET, 3600.0, "drops old batch ids, which nobody sends again"),
)


def beat_schedule() -> dict[str, dict[str, Any]]:
    """The table in Celery's form. A run that is not picked up before the next one expires."""
    return {
        entry.job.value: {
            "task": entry.job.value,
            "schedule": entry.every_s,
            "options": {"expires": entry.every_s},
        }
        for entry in SCHEDULE
    }
