"""The keyboard map: what the key window and the help page say. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from apps.dashboard.places import RAIL


@dataclass(frozen=True, slots=True)
class Key:
    """presses: what is pressed one after the other; does: what that does."""

    presses: tuple[str, ...]
    does: str


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """Keys that work in the same place."""

    title: str
    keys: tuple[Key, ...]


_GO = tuple(Key(("g", place.key), place.word.lower()) for _, places in RAIL for place in places)
KEYS: tuple[KeyGroup, ...] = (
    KeyGroup(
        "Everywhere",
        (
            Key(("Ctrl K",), "search runs, incidents, hosts, pages"),
            Key(("/",), "search or filter this page"),
            Key(("j",), "next item"),
            Key(("k",), "previous item"),
            Key(("p",), "pause or resume live data"),
            Key(("t",), "change the time zone"),
            Key(("d",), "light, dark or system theme"),
            Key(("?",), "this map"),
            Key(("Esc",), "close"),
        ),
    ),
    KeyGroup("Go to", _GO),
    KeyGroup(
        "Charts of a run or an incident",
        (
            Key(("x",), "step or time axis"),
            Key(("+",), "zoom in"),
            Key(("-",), "zoom out"),
            Key(("0",), "show all"),
            Key(("[",), "the event before"),
            Key(("]",), "the next event"),
            Key(("l",), "loss on a log axis"),
            Key(("s",), "more smoothing, then none"),
            Key(("←",), "back along the axis of a run"),
            Key(("→",), "on along the axis of a run"),
            Key((".",), "pin a series of a run"),
        ),
    ),
    KeyGroup(
        "Incidents",
        (
            Key(("a",), "acknowledge, also on the deck of the run"),
            Key(("n",), "write a note"),
            Key(("m",), "mute: open the form of a silence"),
        ),
    ),
    KeyGroup(
        "Lines of a log",
        (
            Key(("Enter",), "open or close the line"),
            Key(("c",), "what its file says around it"),
            Key(("y",), "copy its permalink"),
            Key(("f",), "follow new lines"),
            Key(("w",), "wrap long lines"),
        ),
    ),
)
