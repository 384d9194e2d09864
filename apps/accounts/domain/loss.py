"""Why a round trip to the provider came to nothing. Values only."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """What went wrong on the way."""

    AWAY = "the provider does not answer"
    STALE = "not begun in this browser, or too long ago"
    REFUSED = "the provider let nobody through"
    OTHER_CLOCK = "the clocks of provider and server differ"
    MISFIT = "the answer of the provider does not fit"


class Lost(Exception):
    """A round trip that came to nothing. detail: for the log; neither secret nor token. wanted: the
    page that was asked for."""

    def __init__(self, cause: Cause, detail: str = "", wanted: str = "/") -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause, self.detail, self.wanted = cause, detail, wanted
