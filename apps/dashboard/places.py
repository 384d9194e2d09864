"""The rail: where a person can go, and which of it is shown on a phone. Values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Address = Callable[..., str | None]
"""Gives the address of a named page, None where it does not exist."""


@dataclass(frozen=True, slots=True)
class Place:
    """One entry. page: its name among the routes; run_page: the same of one run, where that is
    what a person means who is looking at a run. key: the letter that follows `g`. pocket: among
    the four of a phone; the others are under More. prefixes: addresses that belong to it."""

    slug: str
    word: str
    icon: str
    page: str
    key: str
    prefixes: tuple[str, ...]
    run_page: str = ""
    pocket: bool = False


RAIL: tuple[tuple[str, tuple[Place, ...]], ...] = (
    (
        "first",
        (
            Place("runs", "Runs", "runs", "runs", "r", ("/runs/", "/projects/"), pocket=True),
            Place(
                "incidents", "Incidents", "octagon", "incidents", "i", ("/incidents/",), pocket=True
            ),
            Place("logs", "Logs", "lines", "log_chooser", "l", ("/logs/",), "logs", pocket=True),
            Place(
                "checkpoints",
                "Checkpoints",
                "check",
                "checkpoint_chooser",
                "c",
                ("/checkpoints/",),
                "checkpoints",
            ),
            Place("nodes", "Nodes", "server", "hosts", "n", ("/nodes/",), pocket=True),
            Place("alerts", "Alerts", "bell", "alerts", "a", ("/alerts/",)),
            Place("audit", "Audit", "list", "audit", "u", ("/audit/",)),
        ),
    ),
    (
        "second",
        (
            Place("ingest", "Ingest", "inbox", "ingest", "e", ("/ingest/",)),
            Place("storage", "Storage", "disk", "storage", "s", ("/storage/",)),
            Place("links", "Links", "link", "links", "k", ("/links/",)),
            Place("goodput", "Goodput", "clock", "goodput", "o", ("/goodput/",)),
        ),
    ),
    (
        "last",
        (
            Place("settings", "Settings", "gear", "settings", "t", ("/settings/",)),
            Place("help", "Help", "help", "help", "h", ("/help/",)),
        ),
    ),
)
_OF_RUN = {
    "logs": "logs", "checkpoints": "checkpoints", "retention": "checkpoints",
    "evaluations": "checkpoints", "planning": "checkpoints", "storage": "checkpoints",
}  # fmt: skip
"""The part of an address behind a run -> the place it belongs to."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A place as this page shows it."""

    slug: str
    word: str
    icon: str
    url: str
    key: str
    pocket: bool
    current: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Entries that belong together."""

    name: str
    places: tuple[Entry, ...]


def section(path: str) -> str:
    """The slug of the place that an address belongs to, "" if it is none of them."""
    if path == "/":
        return "runs"
    parts = path.split("/")
    if path.startswith("/runs/") and len(parts) > 3 and parts[3] in _OF_RUN:
        return _OF_RUN[parts[3]]
    for _, places in RAIL:
        for place in places:
            if path.startswith(place.prefixes):
                return place.slug
    return ""


def rail(path: str, run: str | None, address: Address) -> list[Group]:
    """The rail of a page; `run`: the key of the run it is about. What does not exist is left out,
    and so is a group without entries."""
    here = section(path)
    found = [Group(name, tuple(_entries(places, here, run, address))) for name, places in RAIL]
    return [group for group in found if group.places]


def _entries(places: Sequence[Place], here: str, run: str | None, address: Address) -> list[Entry]:
    entries = []
    for place in places:
        url = address(place.run_page, run) if run and place.run_page else address(place.page)
        if url is not None:
            current = place.slug == here
            entries.append(
                Entry(place.slug, place.word, place.icon, url, place.key, place.pocket, current)
            )
    return entries
