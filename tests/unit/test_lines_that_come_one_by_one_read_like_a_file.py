"""logs.domain.entries"""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.reading.entries import Entries, parse_entries
from apps.logs.domain.reading.lines import CONSOLE, TEE, SegmentMeta, parse_segment

S = 1_000_000_000
META = SegmentMeta(
    source="train@3", channel="stdout", local_rank=None, node="gpu-a01", offset=100, seen_ns=50 * S
)


def read(*texts, rank=3, time_ns=None, severity=None, step=None, meta=META):
    def column(value):
        return value if isinstance(value, list) else [value] * len(texts)

    said = Entries(column(time_ns), column(severity), column(step), list(texts), rank)
    return parse_entries(meta, said)


def test_what_the_sender_says_wins_over_the_text():
    line = read(
        "1970-01-01 00:00:07 [ERROR] step 5 went", time_ns=9 * S, severity=Severity.INFO, step=6
    ).lines[0]
    assert (line.time_ns, line.severity, line.step, line.rank) == (9 * S, Severity.INFO, 6, 3)


def test_what_the_sender_leaves_open_is_read_in_the_text():
    line = read("1970-01-01 00:00:07 [WARNING] step 5 went").lines[0]
    assert (line.time_ns, line.severity, line.step) == (7 * S, Severity.WARNING, 5)


def test_a_line_that_names_its_rank_is_believed():
    assert [line.rank for line in read("[rank5]: died", "hello").lines] == [5, 3]


def test_offsets_run_on():
    parsed = read("ab", "c\nd")
    assert ([line.seq for line in parsed.lines], parsed.end) == ([100, 103, 105], 107)


def test_the_lines_of_one_entry_share_its_time_and_level():
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: bad\n'
    lines = read(
        trace, "step 6 fine", time_ns=[9 * S, 8 * S], severity=[Severity.ERROR, None]
    ).lines
    assert [line.time_ns for line in lines] == [9 * S] * 3 + [8 * S]
    assert [line.severity for line in lines] == [Severity.ERROR] * 3 + [Severity.INFO]


def test_numbers_of_a_rank_stand_at_the_time_of_their_line():
    (row,) = read("step 700 local_loss=1.5", time_ns=9 * S).metrics
    assert (row.time_ns, row.rank, row.step, row.values) == (
        9 * S,
        3,
        700,
        {"rank/local_loss": 1.5},
    )


def test_numbers_of_the_job_stand_at_the_time_of_their_line():
    (told,) = read("step=100, skipped=0, lr=[0.0003], mom=[0.9]", time_ns=9 * S).job
    assert (told.row.time_ns, told.row.step) == (9 * S, 100)


def test_a_console_of_all_processes_gives_no_line_the_rank_of_its_launcher():
    lines = read("[default2]:[rank6]: died", "launcher: stopped", rank=0).lines
    assert [(line.rank, line.local_rank, line.channel) for line in lines] == [
        (6, 2, TEE), (None, None, CONSOLE),
    ]  # fmt: skip


_TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")))


@given(_TEXTS)
def test_without_words_of_the_sender_it_reads_what_a_file_with_these_lines_reads(texts):
    data = "".join(f"{text}\n" for text in texts).encode()
    assert read(*texts, rank=None) == parse_segment(META, data) or any(
        text.startswith(("[default", "[rank")) for text in texts
    )


@given(_TEXTS, st.integers(0, 10**6))
def test_each_entry_keeps_its_own_time(texts, first):
    times = [S * (first + at) for at in range(len(texts))]
    shifted = read(*texts, time_ns=times, meta=replace(META, time_shift_ns=5))
    assert [line.time_ns for line in shifted.lines] == [at + 5 for at in times]
