"""What the incident list is asked for, read from its address and written into one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from django.http import QueryDict

from apps.core.words import whole
from apps.dashboard.addresses import query_string
from apps.incidents.store import IncidentQuery
from apps.runs import store as runs

STATES = ("", "unresolved", "open", "acknowledged", "mitigated", "resolved")
SEVERITIES = ("", "page", "warn", "info")
ME, NOBODY = "@me", "@nobody"
_MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class Filter:
    """ "" asks for nothing. run: a key. owner: a user name, ME or NOBODY. q: words to find."""

    state: str = ""
    severity: str = ""
    kind: str = ""
    run: str = ""
    owner: str = ""
    q: str = ""

    @property
    def narrow(self) -> bool:
        """Whether anything beside the state is asked for."""
        return any((self.severity, self.kind, self.run, self.owner, self.q))

    @property
    def rest(self) -> str:
        """The query string without the state, for the links that change it: "&severity=page"."""
        text = query_string({**asdict(self), "state": ""})
        return f"&{text}" if text else ""

    def query(self, me: str, limit: int) -> IncidentQuery | None:
        """What the store is asked; None if there is no such run."""
        run = runs.get_run(self.run) if self.run else None
        if self.run and run is None:
            return None
        return IncidentQuery(
            run_id=run.id if run else None,
            state=None if self.state in ("", "unresolved") else self.state,
            unresolved=self.state == "unresolved",
            severity=self.severity,
            kind=self.kind,
            owner={ME: me, NOBODY: ""}.get(self.owner, self.owner),
            unowned=self.owner == NOBODY,
            text=self.q,
            limit=limit,
        )


def filter_of(asked: QueryDict) -> Filter:
    """The filter that a query string says; what is not understood asks for nothing."""
    known = {"state": STATES, "severity": SEVERITIES}
    texts = {f.name: asked.get(f.name, "").strip()[:_MAX_TEXT] for f in fields(Filter)}
    return Filter(
        **{name: text for name, text in texts.items() if text in known.get(name, (text,))}
    )


def place_of(asked: QueryDict) -> tuple[int, int] | None:
    """The (urgency, id) behind which a page begins, None for the first one."""
    urgency, _, number = asked.get("after", "").partition("-")
    found = whole(urgency), whole(number)
    return None if found[0] is None or found[1] is None else (found[0], found[1])
