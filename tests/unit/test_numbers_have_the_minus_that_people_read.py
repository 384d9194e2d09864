"""Filters of numbers on pages; what programs get keeps the hyphen."""

import math

import pytest

from apps.dashboard.templatetags.lastgood import MINUS, brief, number, percent, signed_percent


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number(-1234.5), "-1,234"),
        (number(-0.25), "-0.2500"),
        (number(-3), "-3"),
        (number(1e-7), "1e-07"),
        (number(-math.inf), "-Inf"),
        (brief(-12.4), "-12"),
        (percent(-0.031), "-3.1 %"),
        (signed_percent(-0.2), "-20 %"),
        (number(1234), "1,234"),
    ],
)
def test_it_is_no_hyphen(shown, text):
    assert shown == text.replace("-", MINUS)
