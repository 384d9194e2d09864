"""`manage.py demo`: its speed and the lines below the ready line."""

import pytest
from django.core.management.base import CommandError

from workers.management.commands.demo import _notes, _speed


@pytest.mark.parametrize(("text", "speed"), [("1", 1.0), ("0.5", 0.5), ("20", 20.0)])
def test_a_speed_is_a_number(text, speed):
    assert _speed(text) == speed


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan", "inf", "1001", ""])
def test_another_speed_is_refused_with_what_is_allowed(text):
    with pytest.raises(CommandError, match=r"SPEED: .* use a number above 0 and up to 1000"):
        _speed(text)


@pytest.mark.parametrize(("speed", "seconds"), [(1.0, 93), (2.0, 46)])
def test_the_notes_say_when_the_loss_explodes(speed, seconds):
    text = "\n".join(_notes(speed))

    assert f"in about {seconds} s the loss explodes at step 1000; roll back to step 900" in text
    assert seconds < 120
