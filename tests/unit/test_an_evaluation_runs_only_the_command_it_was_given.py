"""apps.checkpoints.domain.evaluating: the words of a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.evaluating import (
    Subject,
    Suite,
    checked,
    command,
)
from apps.core.errors import AppError

OUT = "/var/out"
PROGRAMS = ("/opt/eval/run",)
ARGV = ("/opt/eval/run", "--model_args", "pretrained={checkpoint}", "--output_path", "{output}")


def suite(*argv, **more):
    return Suite("s", argv or ARGV, **more)


def subject(checkpoint="/ckpt/step-9", run="boom"):
    return Subject(checkpoint, 9, 0, run, OUT, "s")


def test_placeholders_are_filled_inside_their_words():
    words = command(suite(*ARGV, "--name", "{run}:{step}:{attempt}"), subject(), PROGRAMS)
    assert words[1:] == [
        "--model_args", "pretrained=/ckpt/step-9", "--output_path", OUT, "--name", "boom:9:0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "where"),
    [
        ((), "argv"),
        (("/bin/sh", "-c", "rm {output}"), "argv[0]"),
        (("run", "{output}"), "argv[0]"),
        (("/opt/eval/run", "{step.__class__}", "{output}"), "argv[1]"),
        (("/opt/eval/run", "{step!r}", "{output}"), "argv[1]"),
        (("/opt/eval/run", "{step:>9}", "{output}"), "argv[1]"),
        (("/opt/eval/run", "{0}", "{output}"), "argv[1]"),
        (("/opt/eval/run", "{", "{output}"), "argv[1]"),
        (("/opt/eval/run", "", "{output}"), "argv[1]"),
        (("/opt/eval/run", "a\0b", "{output}"), "argv[1]"),
        (("/opt/eval/run", "{checkpoint}"), "argv"),
    ],
)
def test_a_command_that_may_not_run_is_refused_by_field(argv, where):
    with pytest.raises(AppError) as caught:
        checked(suite(*argv) if argv else Suite("s", ()), PROGRAMS)
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("field", "value"),
    [("timeout_s", 9), ("timeout_s", 172_801), ("tries", 0), ("every_steps", -5)],
)
def test_a_number_out_of_range_is_refused_by_field(field, value):
    with pytest.raises(AppError) as caught:
        checked(suite(**{field: value}), PROGRAMS)
    assert caught.value.where == field


def test_no_program_is_allowed_until_the_operator_says_so():
    with pytest.raises(AppError, match="EVALUATION_PROGRAMS is not set"):
        command(suite(), subject(), ())


@pytest.mark.parametrize(
    "path", ["/c,trust_remote_code=True", "/c d", "--output=/etc", "/c\0d", "/c;rm", "/c$(id)"]
)
def test_a_path_that_would_say_more_than_itself_is_refused(path):
    with pytest.raises(AppError, match="cannot be given to a command"):
        command(suite(), subject(path), PROGRAMS)


def test_a_path_in_a_word_of_its_own_may_hold_anything_but_a_leading_dash():
    argv = ("/opt/eval/run", "{checkpoint}", "{output}")
    assert command(suite(*argv), subject("/c d,e=f"), PROGRAMS)[1] == "/c d,e=f"
    with pytest.raises(AppError, match="cannot be given"):
        command(suite(*argv), subject("-rf"), PROGRAMS)


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_value_adds_or_splits_a_word(path, run):
    argv = ("/opt/eval/run", "{checkpoint}", "x={checkpoint}", "{run}", "{output}")
    try:
        words = command(suite(*argv), subject(path, run), PROGRAMS)
    except AppError:
        return
    assert words == ["/opt/eval/run", path, f"x={path}", run, OUT]
