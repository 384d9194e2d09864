"""Mails to look at: what the golden files hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from apps.alerts.domain.bundle import Bundle
from apps.alerts.domain.flow import Why
from apps.alerts.domain.mail import MailFacts, Reason
from apps.alerts.domain.message import Kind
from apps.alerts.transports.email.plot import Curve, describe
from apps.core.records import Candidate, Evidence, Suspect
from apps.incidents.domain.incident import IncidentState
from apps.incidents.domain.suggestion import Advice, Move
from tests.incident_samples import SECOND, WARN, at, explosion, incident

SITE = "https://lastgood.example.org"
SUBJECT = "CRITICAL llm-300b: Loss 0.97 -> 3.65 since step 1,001 (INC-42)"


def curve() -> Curve:
    """A loss that jumps at step 1,001, with one NaN."""
    step = np.arange(900, 1100, dtype=np.int64)
    loss = np.where(step < 1001, 0.97, 3.5) + 0.03 * np.sin(step)
    loss[150] = np.nan
    return Curve("train/loss", step, loss, 1001)


def candidate(step: int = 900) -> Candidate:
    """A whole checkpoint."""
    lost = 1001 - step
    return Candidate(step, 0, f"/c/{step}", True, "headers_verified", (), lost, lost / 100, 0, 1)


def opening(**fields: Any) -> MailFacts:
    """The opening message of an exploded loss."""
    suspect = Suspect(5, "gpu-b02", "silent_data_corruption", 0.7, (Evidence("rank 5 at 2.8"),))
    best = candidate(900)
    advice = Advice(
        Move.FIX_FIRST,
        "The learning rate rose 40 times at the same step.",
        best,
        "Set it back before you go on.",
    )
    values: dict[str, Any] = {
        "kind": Kind.OPENING,
        "seq": 0,
        "over": False,
        "incident": incident(suspects=(suspect,)),
        "run_key": "llm-300b",
        "recipient": "oncall@example.org",
        "site_url": SITE,
        "host": "lastgood.example.org",
        "now_ns": at(1003) + 5 * SECOND,
        "dated_ns": at(1003) + 5 * SECOND,
        "findings": (explosion(evidence=(Evidence("learning rate 0.0006 -> 0.024"),)),),
        "candidates": (best, candidate(750), candidate(600), candidate(450)),
        "plot_alt": describe(curve()),
        "project": "LLM",
        "advice": advice,
        "fired": 2,
        "reason": Reason(
            ("pages",), "Europe/Berlin", f"{SITE}/alerts/leave/TOKEN/", "ops@example.org"
        ),
        **fields,
    }
    return MailFacts(**values)


def closing() -> MailFacts:
    """The closing message of the same."""
    over = incident(
        state=IncidentState.RESOLVED,
        resolved_at_ns=at(1003) + 840 * SECOND,
        resolution="recovered",
    )
    later = at(1003) + 841 * SECOND
    return opening(
        kind=Kind.CLOSING, over=True, incident=over, subject=SUBJECT, candidates=(), advice=None,
        now_ns=later, dated_ns=later,
    )  # fmt: skip


def relapse() -> MailFacts:
    """The same loss after it went on from step 900 and exploded again."""
    back = incident(reopened=1, relapsed_step=1010, relapsed_attempt=1)
    older = Advice(Move.ROLL_BACK, "It came back after going on from step 900.", candidate(750))
    return opening(seq=1, incident=back, advice=older, subject=SUBJECT)


def warnings() -> Bundle:
    """Three warnings of two runs in one mail, the last that the cap allows."""
    told = [
        opening(
            incident=incident(id=50 + n, severity=WARN, page=False, title=title),
            run_key=run,
            advice=None,
        )
        for n, (run, title) in enumerate(
            [
                ("llm-300b", "Loss outlier at step 1,001, back by itself"),
                ("llm-300b", "Throughput 30 % below its level since step 1,200"),
                ("proxy-1b", "Save of step 2,000 took 9 min, usually 2 min"),
            ]
        )
    ]
    return Bundle(tuple(told), Why.WARNINGS, at(1003) + 3000 * SECOND)


def storm() -> Bundle:
    """Seven incidents of one run at once, one of them over."""
    told = [opening(incident=replace(incident(), id=42 + n)) for n in range(7)]
    return Bundle(tuple(told), Why.STORM)


SAMPLES = {
    "opening": Bundle((opening(),)),
    "closing": Bundle((closing(),)),
    "relapse": Bundle((relapse(),)),
    "warnings": warnings(),
}
"""name of the golden file -> mail."""
