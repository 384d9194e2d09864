"""`make demo`: its speed and the lines below the ready line."""

import pytest

from apps.core.errors import AppError
from workers.demo.show import notes, speed_of


@pytest.mark.parametrize(("text", "speed"), [("1", 1.0), ("0.5", 0.5), ("20", 20.0)])
def test_a_speed_is_a_number(text, speed):
    assert speed_of(text) == speed


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan", "inf", "1001", ""])
def test_another_speed_is_refused_with_what_is_allowed(text):
    with pytest.raises(AppError, match=r"SPEED: .* use a number above 0 and up to 1000"):
        speed_of(text)


@pytest.mark.parametrize(("speed", "seconds"), [(1.0, 93), (2.0, 46)])
def test_the_notes_say_when_the_loss_explodes(speed, seconds):
    text = "\n".join(notes(speed, "var"))

    assert f"about {seconds} s from now the loss explodes at step 1000; roll back to" in text
    assert "var/mail" in text
