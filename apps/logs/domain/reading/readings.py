"""What lines of one shape have in common: where stamp, rank and step stand, how severe they are.

A reading is learned when a shape comes for the second time: its line, and variants of it with
other digits, are read by the exact reader (headers.py, classify.py, facts.py). Only if all of them
read alike, but for the digits at the places that were found, is it believed for all lines of the
shape; else they are read one by one for ever. So a new way of writing a header needs nothing here.
Plain Python and NumPy.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.reading.envelopes import Envelopes
from apps.logs.domain.reading.facts import may_place, rank_metrics, step_span
from apps.logs.domain.reading.headers import Clock, read_headers
from apps.logs.domain.reading.joblines import FORMATS, row_of, told_by
from apps.logs.domain.reading.severities import Alone, severity_alone
from apps.logs.domain.triage.classify import may_depend_on_digits

Spans = tuple[tuple[int, int], ...]
"""(start, end) of pieces of a line, in their order."""
MAX_SHAPES = 50_000
MAX_SHAPE_BYTES = 2_000
MAX_SEEN = 100_000
MAX_WORDS = 10_000
MAX_DIGITS = 7
UNKNOWN = -1
NO_FORM = -1
ROW = np.dtype(
    [
        ("usable", "?"),
        ("level", "?"),
        ("severity", "u1"),
        ("opens", "?"),
        ("quotes", "?"),
        ("tells", "?"),
        ("places", "?"),
        ("enveloped", "?"),
        ("job", "u4"),
        ("message_at", "i4"),
        ("form", "i4"),
        ("stamp_at", "i4"),
        ("rank_at", "i4"),
        ("rank_size", "u1"),
        ("local_at", "i4"),
        ("local_size", "u1"),
        ("step_at", "i4"),
        ("step_size", "u1"),
    ]
)
"""level: the line says one. opens, quotes: a traceback may begin here. tells: numbers of its rank.
places: where its rank runs. job: formats whose marker it has, a bit each. *_at: byte in the line;
size 0 = not there. form: of the stamp (Form), -1 = none."""
_ISO = re.compile(r"(\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?")
# Words of hex digits, which no header and no step holds: addresses, ids, checksums. In a shape.
_HEX = re.compile(
    rb"[ =(@/:_-](?:0x[a-f0]{2,64}|(?=[a-f]{0,64}0)(?=0{0,64}[a-f])[a-f0]{4,64})"
    rb"(?![0-9A-Za-z])"
)
_HEX_TEXT = re.compile(
    r"[ =(@/:_-](?:0x[a-f0-9]{2,64}|(?=[a-f]{0,64}[0-9])(?=[0-9]{0,64}[a-f])[a-f0-9]{4,64})"
    r"(?![0-9A-Za-z])"
)
_HIDDEN = b"\xff" * 70  # no byte of UTF-8
_HEX_ALIKE = bytes.maketrans(b"bcdef", b"aaaaa")  # _HEX treats them alike
_words: dict[bytes, Spans] = {}
_RUN = re.compile(r"\d+")
_DIGIT = re.compile(r"\d")
_DIGITS = "0123456789"
_OTHERS = [
    str.maketrans(_DIGITS, digits)
    for digits in ("0" * 10, "1" * 10, "6" * 10, "9" * 10, "3850964217")
]
_EACH_OTHER = "31415926535897932384"
_OTHER_HEX = ("a1", "9f", "0e", "c37", "ecc0", "b2d4")


@dataclass(frozen=True, slots=True)
class Form:
    """How a stamp is written. fraction: digits of it. zone: "" none, "Z", "+05:30" or "+0530" with
    its sign."""

    fraction: int
    zone: str


class _Said(NamedTuple):
    """What has to be the same with other digits. step: where its digits stand in the message."""

    level: int | None
    no_rank: bool
    no_local_rank: bool
    size: int
    alone: Alone
    step: tuple[int, int] | None
    job: int


@dataclass(frozen=True, slots=True)
class _Look:
    """What the exact reader says of one line."""

    time_ns: int | None
    rank: int | None
    local_rank: int | None
    at: int
    said: _Said
    tells: bool


class ShapeBook:
    """The readings of one kind of file. rows: by number of the reading. names: their shapes."""

    def __init__(self, *, tee: bool, tasks_are_ranks: bool) -> None:
        self.tee, self.tasks_are_ranks = tee, tasks_are_ranks
        self.number: dict[bytes, int] = {}
        self.names: list[bytes] = []
        self.rows: NDArray[np.void] = np.zeros(256, dtype=ROW)
        self.forms: dict[Form, int] = {}
        self._seen: set[bytes] = set()
        self._same: set[int] = set()

    def trim(self) -> None:
        """Forgets all readings when there are too many. Numbers given before are void then."""
        if len(self.number) > MAX_SHAPES:
            self.number.clear()
            self.names.clear()
        if len(self._seen) > MAX_SEEN:
            self._seen.clear()
        if len(self._same) > MAX_SEEN:
            self._same.clear()

    def find(self, shape: bytes, key: bytes) -> int:
        """The number of the reading of a key, or UNKNOWN. A shape that comes again gets a number of
        its own, so that its key is not needed any more."""
        number = self.number.get(key, UNKNOWN)
        if number != UNKNOWN and shape != key:
            mark = hash(shape)
            if mark in self._same:
                self._add(shape, self.rows[number])
            self._same.add(mark)
        return number

    def meet(self, key: bytes, text: str) -> None:
        """A line whose key (hidden_hex of its shape) has no reading yet."""
        if len(key) > MAX_SHAPE_BYTES or key in self.number:
            return
        if key not in self._seen:
            self._seen.add(key)
            return
        self._seen.discard(key)
        row = np.zeros(1, dtype=ROW)[0]
        for name, value in self._learned(text).items():
            row[name] = value
        self._add(key, row)

    def _add(self, shape: bytes, row: np.void) -> None:
        number = self.number[shape] = len(self.names)
        self.names.append(shape)
        if number >= len(self.rows):
            self.rows = np.concatenate((self.rows, np.zeros_like(self.rows)))
        self.rows[number] = row

    def _learned(self, text: str) -> dict[str, int]:
        clock = Clock(0)
        enveloped = text[:1] == "{" or Envelopes({}, clock).open(text) is not None
        return self._read(text, clock) | {"enveloped": enveloped}

    def _read(self, text: str, clock: Clock) -> dict[str, int]:
        """The reading of a line that is not opened; {} for none."""
        (look,) = self._looks([text], clock)
        if look is None or not text[: look.at].isascii():
            return {}
        stamp = _stamp(text, look, clock)
        if (stamp is None) != (look.time_ns is None):
            return {}
        variants = list(_variants(text, look.at))
        looks = self._looks(variants, clock)
        for variant, other in zip(variants, looks, strict=True):
            told = None if stamp is None else _time_of(variant, stamp, clock)
            if other is None or other.time_ns != told or other.said != look.said:
                return {}
        read = [other for other in looks if other is not None]
        rank = _place(text, look.at, look.rank, variants, [other.rank for other in read])
        locals_ = [other.local_rank for other in read]
        local = _place(text, look.at, look.local_rank, variants, locals_)
        if rank is None or local is None:
            return {}
        places = {"rank_at": rank[0], "rank_size": rank[1], "local_at": local[0]}
        tells = look.tells or any(other.tells for other in read)
        return self._row(text, look, stamp) | places | {"local_size": local[1], "tells": tells}

    def _looks(self, texts: list[str], clock: Clock) -> list[_Look | None]:
        """What is read in each of these lines; None if the same shape may be read otherwise next
        time."""
        heads = read_headers(texts, clock, tee=self.tee, tasks_are_ranks=self.tasks_are_ranks)
        columns = (heads.time_ns, heads.level, heads.rank, heads.local_rank, heads.body)
        if heads.labels:
            return [None] * len(texts)
        return [
            self._look(text, *one)
            for text, one in zip(texts, zip(*columns, strict=True), strict=True)
        ]

    def _look(
        self,
        text: str,
        time_ns: int | None,
        level: int | None,
        rank: int | None,
        local: int | None,
        body: str,
    ) -> _Look | None:
        alone = Alone(0) if level is not None else self._alone(body, local)
        if not text.endswith(body) or (
            level is None and not alone.opens and may_depend_on_digits(body)
        ):
            return None
        job = told_by(body)
        if job and any(job >> at & 1 and not row_of(f, body, 0) for at, f in enumerate(FORMATS)):
            return None
        said = _Said(level, rank is None, local is None, len(body), alone, step_span(body), job)
        return _Look(time_ns, rank, local, len(text) - len(body), said, bool(rank_metrics(body)))

    def _alone(self, body: str, local: int | None) -> Alone:
        return severity_alone(body, in_console=self.tee and local is None)

    def _row(self, text: str, look: _Look, stamp: re.Match[str] | None) -> dict[str, int]:
        said, body = look.said, text[look.at :]
        row: dict[str, int] = {
            "usable": True,
            "level": said.level is not None,
            "severity": said.alone.severity if said.level is None else said.level,
            "opens": said.alone.opens,
            "quotes": said.alone.quotes,
            "places": may_place(body),
            "job": said.job,
            "message_at": look.at,
            "form": NO_FORM if stamp is None else self._form(stamp),
            "stamp_at": 0 if stamp is None else stamp.start(),
        }
        if said.step is not None:
            start, end = said.step
            row["step_at"] = look.at + len(body[:start].encode("utf-8", "replace"))
            row["step_size"] = end - start
        return row

    def _form(self, stamp: re.Match[str]) -> int:
        zone = stamp[3] or ""
        form = Form(len(stamp[2] or ""), zone if zone in ("", "Z") else _DIGIT.sub("0", zone))
        return self.forms.setdefault(form, len(self.forms))


def hidden_hex(shapes: Sequence[bytes]) -> list[bytes]:
    """The shapes without what words of hex digits say, as long as before. 2 microseconds each."""
    found = []
    for shape, words in zip(shapes, map(_hex_words, shapes), strict=True):
        for start, end in words:
            shape = shape[:start] + _HIDDEN[: end - start] + shape[end:]
        found.append(shape)
    return found


def without_digits(shapes: Sequence[bytes]) -> list[str]:
    """The shapes without digits, and without words of hex digits: those say nothing of a template
    (templates.key_of), and lines that differ in them have one then."""
    hidden = b"\n".join(hidden_hex(shapes)).translate(None, b"0\xff")
    return hidden.decode("utf-8", "replace").split("\n") if shapes else []


def _hex_words(shape: bytes) -> Spans:
    """Where words of hex digits stand, behind their first byte. Lines that differ in hex digits
    only have them at the same places, so these are looked for once for all of them."""
    alike = shape.translate(_HEX_ALIKE)
    words = _words.get(alike)
    if words is None:
        words = tuple((found.start() + 1, found.end()) for found in _HEX.finditer(alike))
        if len(_words) >= MAX_WORDS:
            _words.clear()
        if len(alike) <= MAX_SHAPE_BYTES:
            _words[alike] = words
    return words


def _place(
    text: str, at: int, value: int | None, variants: list[str], others: list[int | None]
) -> tuple[int, int] | None:
    """(start, size) of the digits of a number of the header; (0, 0) for no number, None if nothing
    tells which."""
    if value is None:
        return 0, 0
    for run in _RUN.finditer(text, 0, at):
        start, end = run.span()
        if (
            end - start <= MAX_DIGITS
            and int(run[0]) == value
            and all(
                int(variant[start:end]) == other
                for variant, other in zip(variants, others, strict=True)
            )
        ):
            return start, end - start
    return None


def _stamp(text: str, look: _Look, clock: Clock) -> re.Match[str] | None:
    """The stamp that the time of a line was read from."""
    if look.time_ns is None:
        return None
    return next(
        (
            found
            for found in _ISO.finditer(text, 0, look.at)
            if clock.iso(found[1], found[2], found[3]) == look.time_ns
        ),
        None,
    )


def _time_of(variant: str, stamp: re.Match[str], clock: Clock) -> int | None:
    found = _ISO.match(variant, stamp.start(), stamp.end())
    return None if found is None else clock.iso(found[1], found[2], found[3])


def _variants(text: str, at: int) -> Iterator[str]:
    """The line with other digits; all stamps before `at` become others that exist."""
    each = cycle(_EACH_OTHER)
    others = [text.translate(table) for table in _OTHERS]
    hexes = [(found.start() + 1, found.end()) for found in _HEX_TEXT.finditer(text)]
    stamps = [found.span(1) for found in _ISO.finditer(text, 0, at)]
    for number, whole in enumerate((*others, _DIGIT.sub(lambda _: next(each), text))):
        for start, end in hexes:
            digits = _OTHER_HEX[number] * (end - start)
            begin = start + 2 * text.startswith("0x", start)
            whole = whole[:start] + text[start:begin] + digits[: end - begin] + whole[end:]
        for day, (start, end) in enumerate(stamps):
            moment = iter(f"203108{day % 28 + 1:02d}172638")
            said = "".join(next(moment) if one.isdecimal() else one for one in text[start:end])
            whole = whole[:start] + said + whole[end:]
        yield whole


class _Books(threading.local):
    """Each thread learns for itself: no lock, and nothing that another one changes meanwhile."""

    def __init__(self) -> None:
        self.of: dict[tuple[bool, bool], ShapeBook] = {}


_books = _Books()


def book(*, tee: bool, tasks_are_ranks: bool) -> ShapeBook:
    """The readings of this thread for files of that kind."""
    key = (tee, tasks_are_ranks)
    if key not in _books.of:
        _books.of[key] = ShapeBook(tee=tee, tasks_are_ranks=tasks_are_ranks)
    _books.of[key].trim()
    return _books.of[key]
