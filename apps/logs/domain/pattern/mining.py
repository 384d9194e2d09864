"""Masked texts that differ in a name or two become one pattern: a small Drain.

A tree of fixed depth (number of words, then first word) leads to a short list of groups; a text
joins the most similar one or opens its own. Source: He, Zhu, Zheng and Lyu, "Drain: An Online Log
Parsing Approach with Fixed Depth Tree", ICWS 2017. Two things are other than there, because a
person at 3 a.m. looks for what is *not* as usual:

* only names give way to `<*>` (hosts, functions, files, classes). A verb, a state or `nan` where a
  number stood is what the line says: such texts stay apart;
* it runs when patterns are read, over the few hundred masked texts of a run, and keeps no state.

Plain Python, deterministic for a given order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

ANY = "<*>"
_WILDCARDS = re.compile(r"<(?:num|hex|ip|path|time|id|\*)>|#+")
_WORD = re.compile(r"\S+")
_TRIM = "[](){}\"'`,;:!?"
_NAME = re.compile(r"[\w<>#*]+[_./:<>#-]+[\w<>#*]|[_./<>#-]|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class MiningPolicy:
    """similarity: share of words that must be equal for two texts to be one pattern; 0.6, because
    on logs of training jobs it merged names and nothing else (docs/adr/0006). most_groups: under
    one first word; further texts are not merged. Drain's implementations bound it by 100 as well.
    """

    similarity: float = 0.6
    most_groups: int = 100


@dataclass(slots=True)
class Group:
    """Texts that are one pattern. members: their numbers, ascending; words: with ANY."""

    words: list[str]
    members: list[int] = field(default_factory=list)


def mine(texts: Sequence[str], policy: MiningPolicy | None = None) -> list[Group]:
    """Every text in exactly one group, groups in the order of their first text.

    Cost: about 5 us a text, and 2 us for each group it is compared with.
    """
    limits = policy or MiningPolicy()
    leaves: dict[tuple[int, str], list[Group]] = {}
    groups: list[Group] = []
    for number, text in enumerate(texts):
        words = _WORD.findall(text)
        leaf = leaves.setdefault((len(words), words[0] if words else ""), [])
        group = _most_similar(leaf, words, limits.similarity)
        if group is None:
            group = Group(words)
            groups.append(group)
            if len(leaf) < limits.most_groups:
                leaf.append(group)
        else:
            group.words = [a if a == b else ANY for a, b in zip(group.words, words, strict=True)]
        group.members.append(number)
    return groups


def _most_similar(leaf: Sequence[Group], words: list[str], least: float) -> Group | None:
    best, chosen = least, None
    for group in leaf:
        found = similarity(group.words, words)
        if found >= best and (chosen is None or found > best):
            best, chosen = found, group
    return chosen


def similarity(pattern: Sequence[str], words: Sequence[str]) -> float:
    """Share of words that are equal; 0 if a word differs that is no name. Lengths are equal."""
    equal = 0
    for known, word in zip(pattern, words, strict=True):
        if known == word:
            equal += known != ANY
        elif not _both_names(known, word):
            return 0.0
    return equal / len(pattern) if pattern else 1.0


def _both_names(known: str, word: str) -> bool:
    """Whether two different words are names of things of one kind."""
    if known == ANY:
        return _name(word) is not None
    one, other = _name(known), _name(word)
    return one is not None and one == other


def _name(word: str) -> tuple[str, tuple[str, ...]] | None:
    """What a name must share with another: its key (`pg=`) and its wildcards; None for no name.

    Names have an inner `_ . / - :`, a masked number, or a capital behind a small letter.
    """
    key, equals, value = word.strip(_TRIM).rpartition("=")
    value = value.strip(_TRIM)
    wildcards = tuple(_WILDCARDS.findall(value))
    bare = _WILDCARDS.sub("", value)
    if not any(char.isalpha() for char in bare) or _NAME.search(value) is None:
        return None
    return f"{key}{equals}", wildcards
