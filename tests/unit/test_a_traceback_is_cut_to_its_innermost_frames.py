"""logs.domain.triage.frames"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.triage.frames import SHOWN_LINES, innermost

HEAD = "Traceback (most recent call last):"
FRAMES = [
    '  File "train.py", line 9, in main',
    "    step(batch)",
    "    ~~~~^^^^^^^",
    '  File "train.py", line 4, in step',
    "    raise KeyError(batch)",
]
KEPT = (FRAMES[0], FRAMES[1], FRAMES[3], FRAMES[4])


@pytest.mark.parametrize("prefix", ["", "[rank6]: ", "[default2]:[rank6]: "])
def test_frames_are_kept_and_carets_left_out(prefix):
    lines = ["step 110 loss=2.6", *(prefix + text for text in [HEAD, *FRAMES])]
    assert innermost(lines) == tuple(prefix + text for text in KEPT)


def test_of_a_deep_one_the_innermost_are_shown():
    deep = [HEAD, *(f'  File "a.py", line {n}, in f' for n in range(90))]
    assert innermost(deep) == tuple(deep[-SHOWN_LINES:])


def test_what_is_no_traceback_gives_none():
    assert innermost([]) == ()
    assert innermost(["step 110 loss=2.6"]) == ()
    assert innermost(["a line", *FRAMES]) == ()


@given(st.lists(st.text(max_size=60), max_size=20))
def test_any_text_is_survived(lines):
    assert len(innermost(lines)) <= SHOWN_LINES
