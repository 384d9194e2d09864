"""Lines as a CSV file that is made while it is sent."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import StreamingHttpResponse


class _Line:
    """A file that gives back what is written to it, one row at a time."""

    def write(self, text: str) -> str:
        return text


def answer(name: str, lines: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Lines, heads first, as a file of that name."""
    writer = csv.writer(_Line())
    told = (writer.writerow(line) for line in lines)
    response = StreamingHttpResponse(told, content_type="text/csv; charset=utf-8")
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:160]
    response["Content-Disposition"] = f'attachment; filename="{safe}.csv"'
    return response
