"""Log records as one line: time, level, logger, event key, then the fields given as `extra`."""

from __future__ import annotations

import logging

_OWN = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class LineFormatter(logging.Formatter):
    """`2026-11-29 19:46:03,842 WARNING writer.loop writer.waits reason=connection refused`.

    Fields are shown if they are texts, numbers or None, in the order of their names.
    """

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line without traceback."""
        fields = sorted(
            (name, value)
            for name, value in vars(record).items()
            if name not in _OWN and isinstance(value, str | int | float | None)
        )
        told = "".join(f" {name}={value}" for name, value in fields)
        return super().formatMessage(record) + told
