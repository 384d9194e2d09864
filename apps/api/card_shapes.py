"""The triage card as JSON."""

from __future__ import annotations

from ninja import Schema


class CheckOut(Schema):
    test: str
    result: str
    seen: str


class SuspicionOut(Schema):
    cause: str
    text: str
    result: str
    confidence: float
    checks: list[CheckOut]


class CostOut(Schema):
    steps: int
    hours: float | None
    gpu_hours: float | None


class CardOut(Schema):
    """The triage card. advice: wait, roll back, fix first or look; sentence: with its reason.

    waiting: lost if it has not healed by then. hour: what each further hour costs. step: the
    checkpoint to go back to. skip: steps whose data to skip, only when the data are suspected.
    exclude: hosts to leave out. causes: every cause with its tests, likely ones first.
    """

    shape: str
    headline: str
    advice: str
    sentence: str
    reason: str
    repair: str
    step: int | None
    practice: str | None
    causes: list[SuspicionOut]
    waiting: CostOut | None
    hour: CostOut | None
    going_back: CostOut | None
    skip: tuple[int, int] | None
    exclude: list[str]
    warnings: list[str]
