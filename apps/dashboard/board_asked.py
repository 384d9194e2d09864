"""What the list of runs is asked for, read from its address and written into one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import QueryDict

from apps.dashboard.addresses import query_string
from apps.dashboard.board import Asked
from apps.dashboard.board_order import SHOWN, read_place

_NONE: dict[str, str | None] = {"": None, "-": ""}
"""A value of an address -> what it asks for, where that is not itself."""


@dataclass(frozen=True, slots=True)
class Filter:
    """shown: a key of board_order.SHOWN. project, owner: as addresses call them, "-" is none, "" is
    all. after: a place, "" for the first page."""

    shown: str
    project: str
    after: str
    owner: str = ""

    @property
    def narrow(self) -> bool:
        """Whether a list without a run says nothing of the others."""
        return bool(self.shown or self.project or self.owner)

    @property
    def later(self) -> bool:
        """Whether this is not the first page."""
        return bool(self.after)

    @property
    def rest(self) -> str:
        """The query string of the next page, but for its place: "show=running&"."""
        return f"{text}&" if (text := self._query(self.shown)) else ""

    @property
    def here(self) -> str:
        """The query string of this page: "?show=running&after=3-7"."""
        return f"?{self.rest}" + (f"after={self.after}" if self.after else "")

    @property
    def query(self) -> str:
        """The query string without a place: what a saved view keeps."""
        return self._query(self.shown)

    @property
    def all(self) -> str:
        """The address of all runs, of the same project."""
        return replace(self, owner="").to("")

    @property
    def anybodys(self) -> str:
        """The address of the same list, whoever owns its runs."""
        return replace(self, owner="").to(self.shown)

    def owned_by(self, name: str) -> str:
        """The address of the same list of one owner's runs."""
        return replace(self, owner=name).to(self.shown)

    def to(self, shown: str) -> str:
        """The address of the first page of another list."""
        return f"?{self._query(shown)}"

    def _query(self, shown: str) -> str:
        return query_string({"show": shown, "project": self.project, "owner": self.owner})

    def asked(self) -> Asked:
        """The same in the words of the list."""
        project, owner = (_NONE.get(name, name) for name in (self.project, self.owner))
        return Asked(self.shown, project, read_place(self.after), owner)


def read(asked: QueryDict) -> Filter:
    """What an address asks for; what it gets wrong it does not ask for."""
    shown, after = asked.get("show", ""), asked.get("after", "")
    return Filter(
        shown=shown if shown in SHOWN else "",
        project=asked.get("project", "")[:200],
        after=after if read_place(after) else "",
        owner=asked.get("owner", "")[:200],
    )
