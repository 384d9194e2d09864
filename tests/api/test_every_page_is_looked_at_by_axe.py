"""The list of pages that the browser tests walk is whole: a new page that is in no list fails."""

from pathlib import Path

from django.urls import get_resolver, resolve

from tests.api.test_each_change_needs_its_role import filled
from tests.browser.pages import ADDRESSES, NO_PAGES, PLAIN

TEMPLATES = Path(__file__).parents[2] / "templates"
SOMETHING = {
    "run": "boom", "other": "boom", "project": "llm", "host": "gpu-1", "incident": "/incidents/1/",
    **dict.fromkeys(["rule", "channel", "link_test", "root", "order", "evaluation"], 1),
}  # fmt: skip


def names(patterns, prefix="/"):
    """(name, route) of what is named outside of the API."""
    for one in patterns:
        route = prefix + str(one.pattern)
        if not hasattr(one, "url_patterns"):
            yield one.name, route
        elif not getattr(one, "namespace", None):
            yield from names(one.url_patterns, route)


def test_each_address_that_gives_a_page_is_walked_or_says_why_not(operator, incident):
    walked = {
        resolve(address.format(**SOMETHING).partition("?")[0]).url_name
        for name, address in ADDRESSES.items()
        if name != "nothing-here"
    }
    given = {
        name
        for name, route in names(get_resolver().url_patterns)
        if name and operator.get(filled(route)).status_code != 405
    }
    assert walked & set(NO_PAGES) == set()
    assert given - walked - set(NO_PAGES) == set()
    assert set(NO_PAGES) <= given


def test_each_plain_page_is_among_them():
    plain = {
        str(path.relative_to(TEMPLATES))
        for path in TEMPLATES.rglob("*.html")
        if 'extends "plain.html"' in path.read_text()
    }
    assert plain - {"accounts/login.html"} == set(PLAIN)
