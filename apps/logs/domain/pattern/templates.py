"""What lines have in common when what varies is taken out: template ids and masked text.

Two functions of a message (a line without its prefixes), for two readers:

* `template_id` is for counting. It looks at the *shape* only, the message without its decimal
  digits, and of that at the words. So lines that differ in digits have one id by construction, a
  reader of lines may keep shape -> id, and every process finds the same id without asking another.
* `masked` is for people: the message with typed wildcards in place of what varies.

Plain Python. Nothing here raises on content.
"""

from __future__ import annotations

import re
from hashlib import blake2b

MAX_SHAPE_CHARS = 2_000
MAX_WORDS = 48
MAX_MASKED_CHARS = 600
MAX_CACHED = 20_000
OTHER = 0
"""Id of what did not fit: lines of templates beyond the bound of their attempt."""

_DIGITS = str.maketrans("", "", "0123456789")
_PATH_END = r"[^\s\"'`,;()\[\]{}<>|]*"
# Not behind a word, a number's slash or a wildcard: `tok/s`, `3/8`, `<num>/s` hold no path.
_PATH = rf"(?<![\w.>#)\]])(?:[A-Za-z][\w+.-]*://|~?/(?=[\w.$~-])){_PATH_END}"
_PATHS = re.compile(_PATH)
_SOURCE_FILE = re.compile(r"[\w.+-]+\.(?:py|pyx|cc|cpp|cu|cuh|h|hpp|c|so|go|rs|sh)(?![A-Za-z])")
# Bytes beyond ASCII stay: there, letters are told from the rest before.
_LETTERS = bytes(code if code > 127 or chr(code).isalpha() else 32 for code in range(256))
_HEX = b"abcdefABCDEFxX"
_BLANKS = bytes(code for code in range(128) if not 32 < code < 127 or chr(code).isalnum())
_MASKS = re.compile(
    r"(?P<kept><(?:num|hex|ip|path|time|id|\*)>)"
    r"|(?P<time>(?<![\w.])\d{4}[-/]\d\d[-/]\d\d(?:[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"(?:Z|[+-]\d\d:?\d\d)?)?(?!\w)|(?<![\w.:])\d\d:\d\d:\d\d(?:[.,]\d+)?(?![\w:]))"
    rf"|(?P<path>{_PATH})"
    r"|(?P<id>(?<!\w)[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}(?!\w)"
    r"|(?<!\w)[\da-fA-F]{4,8}:[\da-fA-F]{2}:[\da-fA-F]{2}(?:\.\d)?(?!\w))"
    r"|(?P<ip>(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.]))"
    r"|(?P<hex>(?<!\w)(?:\d[xX][\da-fA-F]+|(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[\da-fA-F]{6,})(?!\w))"
    r"|(?P<num>(?<![^\W\d_])(?:(?<![\w)\]>#])[-+])?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?)"
    r"|(?P<digits>\d+)"
)

_ids: dict[str, int] = {}


def shape_of(message: str) -> str:
    """The message without its decimal digits (0-9)."""
    return message.translate(_DIGITS)


def template_id(message: str) -> int:
    """Id of the template of one message, 1 to 2**63 - 1; the same in every process and release."""
    return template_of_shape(shape_of(message))


def template_of_shape(shape: str) -> int:
    """`template_id` of every message with this shape. Cost: about 4 us, a dict lookup if known."""
    found = _ids.get(shape)
    if found is None:
        if len(_ids) >= MAX_CACHED:
            _ids.clear()
        found = _ids[shape] = _hashed(key_of(shape))
    return found


def key_of(shape: str) -> bytes:
    """What lines of one template share: the words of a shape, each once, in order.

    Left out, because they vary: punctuation and spaces (padding, signs, decimal points, lengths of
    lists), words of hex letters and `x` only (`0x7fab` keeps `xfab`), directories (of a source file
    its name stays). A shape without any word gives the set of its punctuation. `nan` and `inf` are
    words: a number that turned into one makes a template of its own.
    """
    text = shape[:MAX_SHAPE_CHARS]
    if "/" in text:
        text = _PATHS.sub(_source_name, text)
    if not text.isascii():
        text = "".join([char if char.isalpha() else f" {_sign(char)}" for char in text])
    raw = text.encode("utf-8", "replace")
    words = dict.fromkeys([w for w in raw.translate(_LETTERS).split() if w.strip(_HEX)])
    return b" ".join([*words][:MAX_WORDS]) or bytes(sorted({*raw.translate(None, _BLANKS)}))


def _sign(char: str) -> str:
    """What is left of a character that is no letter: itself if it is ASCII."""
    return char if char.isascii() else ""


def _source_name(path: re.Match[str]) -> str:
    """Of a path, the file it ends in if that is source code or a library."""
    found = _SOURCE_FILE.search(path[0].rpartition("/")[2])
    return f" {found[0]} " if found is not None else " "


def _hashed(key: bytes) -> int:
    digest = blake2b(key, digest_size=8, person=b"template").digest()
    return (int.from_bytes(digest, "big") >> 1) or 1


def masked(message: str) -> str:
    """The message for people: what varies as `<num>`, `<hex>`, `<ip>`, `<path>`, `<time>`, `<id>`.

    Digits inside a word become `#` (`bfloat#`), so that none is left. Of a path to source code the
    file name stays. At most 600 characters. Idempotent.
    """
    return _MASKS.sub(_wildcard, message[: 4 * MAX_MASKED_CHARS])[:MAX_MASKED_CHARS]


def _wildcard(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind == "kept":
        return found[0]
    if kind == "digits":
        return "#"
    if kind == "path":
        name = _SOURCE_FILE.search(found[0].rpartition("/")[2])
        return f"<path>/{masked(name[0])}" if name is not None else "<path>"
    return f"<{kind}>"
