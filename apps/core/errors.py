"""Errors that a person reads: what happened, where, what to do."""

from __future__ import annotations

from typing import ClassVar


class AppError(Exception):
    """Base of every error Lastgood raises on purpose.

    message: what happened. hint: what to do about it. where: the field, file or line at fault.
    """

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.hint}" if self.hint else ""
        return f"{place}{self.message}{advice}"


class BadPayload(AppError):
    """A body that cannot be read. Raised by parsers only."""


class Refused(AppError):
    """What somebody asks for may not be done like this. status: the HTTP status that says so."""

    status: ClassVar[int] = 422


class NotFound(AppError):
    """What somebody asks for is not there."""

    status: ClassVar[int] = 404


class Conflict(AppError):
    """Somebody was first."""

    status: ClassVar[int] = 409


def status_of(error: AppError | None) -> int:
    """The HTTP status of a page that shows this error: its own, else 400; 200 without one."""
    return int(getattr(error, "status", 400)) if error else 200
