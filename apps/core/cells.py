"""Texts in the cells of CSV files."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins like this for a formula."""


def cell(text: str) -> str:
    """A text that somebody else wrote, as a spreadsheet shows it."""
    return f"'{text}" if text.startswith(_FORMULA) else text
