import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.bearer import secret_in


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("Bearer lg_abc", "lg_abc"),
        ("bearer   lg_abc ", "lg_abc"),
        (basic("api:local-abc"), "local-abc"),
        (basic(":lg_abc"), "lg_abc"),
        (basic("grafana:lg:with:colons"), "lg:with:colons"),
        (basic("no password"), ""),
        ("Basic %%%", ""),
        ("Basic " + base64.b64encode(b"\xff\xfe:x").decode(), ""),
        ("Digest lg_abc", ""),
        ("lg_abc", ""),
        ("", ""),
    ],
)
def test_the_secret_is_found_or_nothing_is(header, secret):
    assert secret_in(header) == secret


@given(st.text(max_size=200))
def test_no_header_breaks_it(header):
    assert isinstance(secret_in(header), str)
