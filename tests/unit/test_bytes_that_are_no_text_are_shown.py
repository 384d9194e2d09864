"""dashboard.log_feed.as_bytes"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dashboard.log_feed import as_bytes
from apps.logs.records import LogEntry


def entry(text):
    return LogEntry(0, None, 0, 0, "f", "stderr", None, None, 20, None, text)


@given(st.binary(max_size=40))
def test_every_byte_can_be_read_back(raw):
    shown = as_bytes(entry("another text"), raw)
    parts = re.findall(r"\\\\|\\x[0-9a-f]{2}|[^\\]+", shown)
    assert b"".join(_read(part) for part in parts) == raw


def _read(part):
    if part == "\\\\":
        return b"\\"
    return bytes.fromhex(part[2:]) if part.startswith("\\x") else part.encode()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"a\xff\x1b[31mb\\", r"a\xff\x1b[31mb\\"),
        ("größer\t".encode(), r"größer\x09"),
        (b"x", "x"),
    ],
)
def test_what_is_no_text_is_written_in_digits(raw, shown):
    assert as_bytes(entry("x!"), raw) == shown


def test_bytes_that_are_the_text_are_not_repeated():
    assert as_bytes(entry("größer"), "größer".encode()) == ""
