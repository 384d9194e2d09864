"""logs.domain.headers: `[default1]:` is local, `[rank5]` global."""

import pytest

from tests.log_samples import console, only, parse


@pytest.mark.parametrize(
    ("text", "local_rank", "rank"),
    [
        ("[default1]:[rank5]: Traceback (most recent call last):", 1, 5),
        ("[default1]:2026-11-29 19:51:14.113 [INFO] [rank5] train: x", 1, 5),
        ("[trainer3]:hello", 3, None),
        ("[rank5]: Traceback (most recent call last):", None, 5),
        ("2: [2026-11-29 19:12:22,620] [INFO] [rank 2] init done", 2, 2),
        ("2026-11-29T19:12:23.361Z stderr F [default0]:[2026-11-29 19:12:23,361] [rank 4] x", 0, 4),
        ("W1129 19:52:28.904000 3010 torch/x.py:1012] Sending process 3054", None, None),
        ("[2026-11-29 19:12:22,620] no rank here", None, None),
    ],
)
def test_console_prefixes(text, local_rank, rank):
    line = only(console(text + "\n"))
    assert (line.local_rank, line.rank) == (local_rank, rank)


def test_lines_a_rank_prints_through_torchrun_are_marked_as_copies():
    parsed = console("[default0]:x\nE1129 19:52:29.2 3010 torch/x.py:986] failed\n")
    assert [line.channel for line in parsed.lines] == ["tee", "console"]


def test_a_rank_file_knows_its_local_rank():
    assert only(parse("x\n")).local_rank == 1


def test_lines_before_the_first_named_rank_get_it_too():
    parsed = parse("wandb: hello\n2026-11-29 19:51:14.113 [INFO] [rank5] x\nmore\n")
    assert parsed.lines.rank == [5, 5, 5]


def test_each_process_of_a_console_gets_its_own_rank():
    parsed = console("[default0]:a\n[default1]:b\n[default1]:[rank5]: c\n[default0]:[rank4]: d\n")
    assert parsed.lines.rank == [4, 5, 5, 4]


def test_another_ranks_name_in_a_message_changes_nothing():
    parsed = parse("[rank5]: a\n[rank5]:[E1129 19:51:20.1 x.cpp:1] [PG 3 Rank 4] timed out\n")
    assert parsed.lines.rank == [5, 5]
