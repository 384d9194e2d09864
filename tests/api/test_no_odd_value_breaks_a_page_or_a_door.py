"""Every address of the URL table, with values that nobody thought of: refused or ignored, no 500.

The table is read from Django: a new page or door is tried without being named here.
"""

import re
import string

import orjson
import pytest
from django.urls import URLPattern, get_resolver
from django.utils.http import urlencode
from hypothesis import HealthCheck, given
from hypothesis import settings as policy
from hypothesis import strategies as st

ODD = [
    "", "0", "-1", "1_0", "²", "٣", "\0", "a\0b", "nan", str(2**31), str(2**63), "9" * 5_000,
    "[1]", "\U0010ffff", "%00", "../../etc/passwd", "a" * 10_000, "1:2", "²:1",
]  # fmt: skip
NAMES = [
    "act", "address", "after", "at", "attempt", "before", "buckets", "channels", "choice",
    "confirm", "exclude", "force", "kind", "kinds", "name", "owner", "project", "recipient",
    "secret", "seq", "severities", "status", "tag", "version",
    "form", "format", "from", "from_ns", "incident", "key", "keys", "level", "limit", "lines_after",
    "next", "node", "order", "page", "part", "password", "points", "prefix", "previewed", "px", "q",
    "rank", "ranks", "reason", "row", "run", "severity", "since", "skip_from", "skip_to", "sort",
    "state", "step", "supersede", "text", "to", "to_ns", "username", "wait", "x",
]  # fmt: skip
KNOWN = {"key": "boom", "form": "json", "attempt": "0"}
FEW = policy(
    max_examples=8,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
NEVER = re.compile(r"^(static|health)/")

odd = st.sampled_from(ODD) | st.text(max_size=20)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | odd,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(odd, inner, max_size=4),
    max_leaves=12,
)


def addresses(patterns, start=""):
    """Every path of the table, with <converter:name> as {name}."""
    for pattern in patterns:
        path = start + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLPattern):
            yield path
        else:
            yield from addresses(pattern.url_patterns, path)


PATHS = sorted({p for p in addresses(get_resolver().url_patterns) if not NEVER.match(p)})


def filled(path, names=KNOWN):
    return "/" + path.format_map({name: names.get(name, "NUMBER") for name in fields(path)})


def fields(path):
    return [name for _, name, _, _ in string.Formatter().parse(path) if name]


@pytest.fixture
def visit(operator, incident, settings):
    """Sends a request as a logged-in person who may operate; the status."""
    operator.raise_request_exception = False
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

    def ask(method, path, **given):
        answer = operator.generic(method, path.replace("NUMBER", str(incident.id)), **given)
        answer.getvalue()
        return answer.status_code

    return ask


def test_the_table_is_read():
    assert {"runs/{key}/logs/", "login/", "api/v1/runs/{key}/series", "graphql"} <= set(PATHS)


def mixed(names):
    """As many requests as there are odd values: each name gets each of them once."""
    return [
        {name: ODD[(turn + 7 * at) % len(ODD)] for at, name in enumerate(names)}
        for turn in range(len(ODD))
    ]


@pytest.mark.parametrize("path", PATHS)
def test_a_query(visit, path):
    asked = [urlencode(values) for values in mixed(NAMES)]
    assert [q for q in asked if visit("GET", filled(path), QUERY_STRING=q) >= 500] == []


@pytest.mark.parametrize("path", PATHS)
def test_a_form(visit, path):
    kind = "application/x-www-form-urlencoded"
    sent = [urlencode(values) for values in mixed(NAMES)]
    assert [
        body for body in sent if visit("POST", filled(path), data=body, content_type=kind) >= 500
    ] == []


@pytest.mark.parametrize("path", [path for path in PATHS if fields(path)])
def test_a_name(visit, path):
    named = [filled(path, values) for values in mixed(fields(path))]
    assert [address for address in named if visit("GET", address) >= 500] == []


@pytest.mark.parametrize("path", [p for p in PATHS if p.startswith(("runs/", "inc", "ing", "aud"))])
def test_a_number(visit, path):
    """One at a time: nothing else keeps the page from reading it."""
    names = ("step", "incident", "before", "attempt", "px", "from", "after")
    asked = [f"{name}={value}" for name in names for value in ("%C2%B2", "9" * 19, "-1")]
    assert [q for q in asked if visit("GET", filled(path), QUERY_STRING=q) >= 500] == []


@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith("api/")])
def test_a_body(visit, token, path):
    head = {"HTTP_AUTHORIZATION": f"Bearer {token}"}

    @FEW
    @given(json)
    def sent(value):
        body = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS, default=str)
        assert visit("POST", filled(path), data=body, content_type="application/json", **head) < 500

    sent()
