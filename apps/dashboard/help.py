"""What the help page says that is written elsewhere: the glossary of the docs. Values only."""

from __future__ import annotations

from dataclasses import dataclass

_NONE = "\N{EN DASH}"
"""What the table says where others have no word."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word, what it means, and what others call it ("" if they have no word)."""

    word: str
    meaning: str
    others: str


def terms(markdown: str) -> list[Term]:
    """The rows of the table with the head "word | meaning | others", in their order.

    Marks of Markdown (backticks, emphasis) are left out; rows of another form are, too.
    """
    found = []
    for line in markdown.splitlines():
        cells = [_plain(cell) for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 3 and cells[0] != "word":
            word, meaning, others = cells
            found.append(Term(word, meaning, "" if others == _NONE else others))
    return [term for term in found if not set(term.word) <= {"-", " "}]


def _plain(cell: str) -> str:
    return cell.replace("`", "").replace("*", "").replace("\\|", "|").strip()
