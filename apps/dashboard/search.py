"""What the search of the whole site finds: runs, incidents, hosts, projects, pages, actions.

Each kind costs a fixed number of statements with a limit. Nothing that is found changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from apps.core.words import whole
from apps.dashboard.places import RAIL, Address
from apps.dashboard.settings_places import sections
from apps.incidents import store as incidents
from apps.nodes.find_store import find_nodes
from apps.runs.find_store import find_projects, find_runs

MAX_TEXT = 100
EACH = 8
HEADLINES = 500
"""So many of the newest incidents are looked at for words of their title."""

ACTIONS = (
    ("Change the theme", "theme", "theme"),
    ("Change the time zone of the page", "clock", "zone"),
    ("Pause or resume live data", "pause", "pause"),
    ("Fold or unfold the rail", "panel", "rail"),
    ("Show the keyboard map", "keys", "keys"),
)
"""(words, icon, name of what the browser does). None of them changes anything but the page."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found. url: where it is, "" for an action of the browser called `act`."""

    title: str
    note: str
    icon: str
    url: str
    act: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Hits of one kind."""

    kind: str
    hits: tuple[Hit, ...]


def search(text: str, address: Address, only: str = "") -> list[Found]:
    """What fits the text, kinds without a hit left out; of an empty text the newest of each kind.
    only: the name of one kind, "" for all.

    Only the first MAX_TEXT characters count, and at most EACH hits of a kind are given.
    """
    asked = text[:MAX_TEXT].strip()
    kinds: tuple[tuple[str, Callable[[str, Address], Sequence[Hit]]], ...] = (
        ("Incidents", _incidents),
        ("Runs", _runs),
        ("Hosts", _hosts),
        ("Pages", _pages),
        ("Projects", _projects),
        ("Actions", _actions),
    )
    found = [
        Found(kind, tuple(look(asked, address))[:EACH])
        for kind, look in kinds
        if only in ("", kind)
    ]
    return [kind for kind in found if kind.hits]


def _incidents(text: str, address: Address) -> list[Hit]:
    number = whole(text.upper().removeprefix("INC-"))
    named = incidents.get(number) if number is not None else None
    hits = [_hit(named.label, named.title, named.id, address)] if named else []
    wanted = text.lower()
    return hits + [
        _hit(one.label, one.title, one.id, address)
        for one in incidents.headlines(HEADLINES if text else EACH)
        if (wanted in one.title.lower() or wanted in one.owner.lower()) and one.id != number
    ]


def _hit(label: str, title: str, number: int, address: Address) -> Hit:
    return Hit(label, title.replace(" -> ", " → "), "octagon", address("incident", number) or "")


def _runs(text: str, address: Address) -> list[Hit]:
    return [
        Hit(key, project, "runs", address("run", key) or "")
        for key, project in find_runs(text, EACH)
    ]


def _hosts(text: str, address: Address) -> list[Hit]:
    """Only where hosts have a page."""
    if not text or address("hosts") is None:
        return []
    return [Hit(name, "", "server", address("host", name) or "") for name in find_nodes(text, EACH)]


def _projects(text: str, address: Address) -> list[Hit]:
    board = address("runs") or ""
    return [
        Hit(name, "project", "folder", f"{board}?{urlencode({'project': name})}")
        for name in find_projects(text, EACH)
    ]


def _pages(text: str, address: Address) -> list[Hit]:
    found = []
    for _, places in RAIL:
        for place in places:
            url = address(place.page)
            if url is not None and text.lower() in place.word.lower():
                found.append(Hit(place.word, "", place.icon, url))
    known = {hit.url for hit in found}
    return found + [
        Hit(one.word, "settings", one.icon, one.url)
        for one in sections("", address)
        if text and text.lower() in one.word.lower() and one.url not in known
    ]


def _actions(text: str, _: Address) -> list[Hit]:
    return [
        Hit(words, "", icon, "", act)
        for words, icon, act in ACTIONS
        if text.lower() in words.lower()
    ]
