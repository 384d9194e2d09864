"""Query strings of the addresses of lists: what a filter asks for, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.http import urlencode


def query_string(asked: Mapping[str, str | int]) -> str:
    """What is asked for, "" for nothing: "actor=ada&run=llm-7b". 0 is something."""
    return urlencode({name: value for name, value in asked.items() if value != ""})
