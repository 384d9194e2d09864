"""Keeping the goodput that the list of runs shows up to date."""

from __future__ import annotations

import logging

from apps.core.database import SERVER_TROUBLE
from apps.metrics import store as metrics
from apps.metrics.domain.glance import SPAN_NS
from apps.rollbacks import planning
from apps.runs import store as runs

EVERY_NS = 300_000_000_000
"""A share of a day moves little in five minutes."""
_GOING = ("running", "no_contact")
"""Of a run that has ended the day before its last contact counts: it waits for nothing."""

log = logging.getLogger(__name__)


def refresh(now_ns: int, limit: int = 20) -> int:
    """Computes the goodput of the last 24 hours of watched runs whose turn it is, and of those that
    ended before their first one; of how many.

    About ten statements a run. One that cannot be computed is logged and keeps no other from its
    own.
    """
    due = metrics.stale_goodputs(now_ns - EVERY_NS, now_ns - SPAN_NS, limit)
    for run_id, run in runs.by_id(due).items():
        ratio = None
        try:
            until_ns = now_ns if run.state in _GOING else run.contact_ns or now_ns
            found = planning.goodput_of(run, until_ns, until_ns - SPAN_NS)
            ratio = found.ratio if found else None
        except SERVER_TROUBLE:
            raise
        except Exception as error:
            log.exception("rollbacks.goodput_failed", extra={"run": run_id, "reason": str(error)})
        metrics.save_goodput(run_id, ratio, now_ns)
    return len(due)
