"""logs.domain.lines: splitting, decoding, control characters, truncation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.reading.pieces import MAX_LINE_BYTES
from tests.log_samples import console, only, parse


def test_seq_is_the_byte_offset_in_the_file():
    parsed = parse("ä\nbc\n\nd\n", offset=100)
    assert parsed.lines.seq == [100, 103, 106, 107]
    assert parsed.end == 109


def test_the_last_line_may_lack_its_end():
    assert parse("a\nb").lines.text == ["a", "b"]


def test_of_a_progress_bar_only_the_last_frame_is_kept():
    assert parse(b"10%\r20%\r100%\nx\r\n").lines.text == ["100%", "x"]


def test_colours_are_removed():
    assert only(parse(b"\x1b[1;34mwandb\x1b[0m: hi \x1b]0;title\x07!\n")).text == "wandb: hi !"


def test_invalid_utf8_is_replaced_and_counted():
    parsed = parse(b"a\xff\xfe b \xef\xbf\xbd \xe2\x82\nok\n")
    assert parsed.lines.text == ["a\ufffd\ufffd b \ufffd \ufffd", "ok"]
    assert parsed.invalid_utf8_bytes == 4


def test_a_nul_byte_becomes_a_visible_sign():
    assert only(parse(b"a\0b\n")).text == "a\u2400b"


def test_a_huge_line_comes_in_pieces_that_say_so():
    parsed = parse(b"x" * (2 * MAX_LINE_BYTES) + b"y" * 10 + b"\nnext\n")
    first, second, third, following = parsed.lines.text
    assert parsed.long_lines == 1
    assert first == "x" * MAX_LINE_BYTES
    assert second == "[piece 2 of a line] " + "x" * MAX_LINE_BYTES
    assert third == "[piece 3 of a line] " + "y" * 10
    assert parsed.lines.seq == [0, MAX_LINE_BYTES, 2 * MAX_LINE_BYTES, 2 * MAX_LINE_BYTES + 11]
    assert following == "next"


def test_the_pieces_of_a_line_are_of_its_process_and_severity():
    long = "[default1]:[rank1]: RuntimeError: " + "ä" * MAX_LINE_BYTES
    parsed = console(f"{long}\n")
    assert parsed.lines.text[0].startswith("[default1]:[rank1]: RuntimeError: ä")
    assert set(parsed.lines.rank) == {1}
    assert set(parsed.lines.severity) == {Severity.ERROR}
    assert parsed.invalid_utf8_bytes == 0


def test_a_line_that_is_huge_only_by_its_frames_is_its_last_frame():
    assert parse(b"10%\r" * MAX_LINE_BYTES + b"100%\n").lines.text == ["100%"]


@given(st.binary(max_size=400), st.sampled_from([parse, console]))
def test_any_bytes_give_as_many_lines_as_line_ends(data, read):
    parsed = read(data, offset=7)
    ends = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    assert len(parsed.lines) == ends
    assert parsed.end == 7 + len(data)
    assert parsed.invalid_utf8_bytes <= len(data)


_LINE = st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b" ") + b"\n")


@given(st.lists(_LINE, min_size=1, max_size=8), st.data())
def test_the_cut_between_two_segments_changes_no_line(lines, data):
    cut = data.draw(st.integers(0, len(lines)))
    head, tail = b"".join(lines[:cut]), b"".join(lines[cut:])
    whole = parse(head + tail).lines
    first, second = parse(head).lines, parse(tail, offset=len(head)).lines
    assert first.text + second.text == whole.text
    assert first.seq + second.seq == whole.seq


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_segment_is_no_error(text):
    assert parse(text).metrics == []
