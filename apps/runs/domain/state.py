"""What a run's state is, from facts only. Silence is never turned into failure."""

from __future__ import annotations

NO_CONTACT_S = 120.0
"""After this long without a word a running run shows "no contact"."""


def run_state(*, exit_code: int | None, failed: bool, last_contact_age_s: float | None) -> str:
    """The state of a run: waiting, running, no_contact, finished, stopped or failed.

    waiting: nothing was received yet. failed: a finding with evidence says so. stopped: it ended
    with an exit code other than 0 and nothing says that it failed (interrupted, pre-empted, time
    limit). no_contact: silence without an exit code.
    """
    if last_contact_age_s is None:
        return "waiting"
    if failed:
        return "failed"
    if exit_code is not None:
        return "stopped" if exit_code else "finished"
    return "no_contact" if last_contact_age_s > NO_CONTACT_S else "running"
