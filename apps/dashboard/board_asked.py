"""What the list of runs is asked for, read from its address and written into one."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.http import urlencode

from apps.dashboard.board import Asked
from apps.dashboard.board_order import SHOWN, read_place


@dataclass(frozen=True, slots=True)
class Filter:
    """shown: a key of board_order.SHOWN. project: as addresses call it, "-" is none, "" is all.
    after: a place, "" for the first page."""

    shown: str
    project: str
    after: str

    @property
    def narrow(self) -> bool:
        """Whether a list without a run says nothing of the others."""
        return bool(self.shown or self.project)

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
    def all(self) -> str:
        """The address of all runs, of the same project."""
        return f"?{self._query('')}"

    def to(self, shown: str) -> str:
        """The address of the first page of another list."""
        return f"?{self._query(shown)}"

    def _query(self, shown: str) -> str:
        asked = {"show": shown, "project": self.project}
        return urlencode({name: value for name, value in asked.items() if value})

    def asked(self) -> Asked:
        """The same in the words of the list."""
        project = {"": None, "-": ""}.get(self.project, self.project)
        return Asked(self.shown, project, read_place(self.after))


def read(request: HttpRequest) -> Filter:
    """What an address asks for; what it gets wrong it does not ask for."""
    shown, after = request.GET.get("show", ""), request.GET.get("after", "")
    return Filter(
        shown=shown if shown in SHOWN else "",
        project=request.GET.get("project", "")[:200],
        after=after if read_place(after) else "",
    )
