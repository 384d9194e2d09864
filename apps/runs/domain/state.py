"""What a run's state is, from facts only. Silence is never turned into failure."""

from __future__ import annotations

from apps.runs.domain.contact import DEFAULT_POLICY

NO_CONTACT_S = DEFAULT_POLICY.unlearned_s
"""After this long without a word a run shows "no contact" whose usual silence is not known."""

STALE_GAPS = 3.0
STALE_S = 60.0
"""A page calls its data old after so many usual gaps; after so long where none is known."""


def stale_after_s(usual_gap_s: float | None) -> float:
    """After how long without a word what is shown of a run is marked as old. Far below the silence
    that is news, and says nothing about the run: 10 s at least, as a page hears a little late."""
    return STALE_S if usual_gap_s is None else max(10.0, STALE_GAPS * usual_gap_s)


def run_state(
    *,
    exit_code: int | None,
    failed: bool,
    last_contact_age_s: float | None,
    silence_s: float | None = None,
) -> str:
    """The state of a run: waiting, running, no_contact, finished, stopped or failed.

    waiting: nothing was received yet. failed: a finding with evidence says so. stopped: it ended
    with an exit code other than 0 and nothing says that it failed (interrupted, pre-empted, time
    limit). no_contact: silence without an exit code, longer than silence_s, which was learned from
    the run (None: NO_CONTACT_S).
    """
    if last_contact_age_s is None:
        return "waiting"
    if failed:
        return "failed"
    if exit_code is not None:
        return "stopped" if exit_code else "finished"
    limit_s = NO_CONTACT_S if silence_s is None else silence_s
    return "no_contact" if last_contact_age_s > limit_s else "running"
