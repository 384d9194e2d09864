"""What a run's state is, from facts only. Silence is never turned into failure."""

from __future__ import annotations

NO_CONTACT_S = 120.0
"""After this long without a word a running run shows "no contact"."""


def run_state(*, exit_code: int | None, failed: bool, last_contact_age_s: float | None) -> str:
    """ "finished", "failed", "no_contact", "running" or "waiting" (nothing received yet).

    failed: a finding with evidence says so. A missing exit code with silence is "no_contact".
    """
    if last_contact_age_s is None:
        return "waiting"
    if failed or (exit_code not in (None, 0)):
        return "failed"
    if exit_code == 0:
        return "finished"
    return "no_contact" if last_contact_age_s > NO_CONTACT_S else "running"
