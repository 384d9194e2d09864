"""Which lines of a chunk have one of some templates, decided once for each shape of line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.chunk.chunktexts import ShapedTexts, Texts
from apps.logs.domain.pattern.templates import template_id
from apps.logs.domain.query.sieve import GRAM, Probe
from apps.logs.domain.reading.headers import Clock, read_headers

_WORD = re.compile(r"(?<![\w#<>])[^\W\d_]+(?![\w#<>])")
_HEX = re.compile(r"[a-fA-FxX]+")


def of_templates(texts: Texts, templates: Collection[int]) -> NDArray[np.bool_]:
    """Which texts have one of the templates; bool[n].

    A text counts with its prefixes and without them: which of them a door took off is not kept.
    Cost: about 20 us for each shape of the chunk.
    """
    if isinstance(texts, ShapedTexts):
        shape, shapes = texts.shape, texts.shapes
    else:
        shape, shapes, _ = texts.apart()
    wanted = np.zeros(len(shapes), dtype=np.bool_)
    used, lines = np.unique(shape, return_index=True)
    for number, line in zip(used.tolist(), texts.several(lines.tolist()), strict=True):
        messages = _messages(line.decode("utf-8", "replace"))
        wanted[number] = any(template_id(message) in templates for message in messages)
    return wanted[shape]


def templates_of(text: str) -> tuple[int, ...]:
    """Templates that a line may have been counted under, the likeliest first."""
    return tuple(dict.fromkeys(template_id(message) for message in _messages(text)))


def _messages(text: str) -> Iterator[str]:
    """The text without prefixes, as a rank file and as a console; then as it is."""
    clock = Clock(0)
    for tee in (False, True):
        yield read_headers([text], clock, tee=tee).body[0]
    yield text


def probes_of_templates(texts: Sequence[str]) -> tuple[tuple[Probe, ...], ...]:
    """What a sieve is asked for lines of templates with these masked texts; () if it cannot help.

    A sieve leaves digits out as templates do: it never closes a chunk that holds such a line.
    """
    word = shared_word(texts).encode()
    return ((Probe(word),),) if len(word) >= GRAM else ()


def shared_word(texts: Sequence[str]) -> str:
    """The longest word that all these masked texts have and that makes their templates; or ""."""
    shared: set[str] | None = None
    for text in texts:
        words = {word for word in _WORD.findall(text) if not _HEX.fullmatch(word)}
        shared = words if shared is None else shared & words
    return max(sorted(shared or ()), key=len, default="")
