"""The post-mortem of an incident as a file to keep."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from apps.alerts.transports.email import plot
from apps.core.errors import NotFound
from apps.core.plain import plain
from apps.incidents.domain.incident import IncidentInfo
from apps.metrics import naming
from apps.metrics import store as metrics
from apps.rollbacks.account import account_of
from apps.rollbacks.domain.postmortem import Plot, document, markdown
from apps.rollbacks.records import Account

TYPES = {
    "zip": "application/zip",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
}
_PLOT_STEPS = 150


@dataclass(frozen=True, slots=True)
class Export:
    """A file: its name, content type and bytes."""

    name: str
    content_type: str
    body: bytes


def export(incident: IncidentInfo, form: str, now_ns: int) -> Export:
    """The post-mortem as it stands now. NotFound for a form that is not in TYPES.

    zip: post-mortem.md, the pictures it shows (plots/) and incident.json. Pictures are files
    beside the text, because most places that show Markdown refuse pictures inside it. The first
    one that a process draws takes a second.
    """
    if form not in TYPES:
        raise NotFound("no such format", hint=f"one of {', '.join(TYPES)}")
    account = account_of(incident, now_ns)
    make = {"zip": _zip, "md": _markdown, "json": _json}[form]
    return Export(f"{incident.label}.{form}", TYPES[form], make(account, now_ns))


def _markdown(account: Account, now_ns: int) -> bytes:
    return markdown(account, now_ns).encode()


def _json(account: Account, now_ns: int) -> bytes:
    told = plain(document(account, now_ns))
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)


def _zip(account: Account, now_ns: int) -> bytes:
    plots = _plots(account.incident)
    files = {
        "post-mortem.md": markdown(account, now_ns, plots).encode(),
        "incident.json": _json(account, now_ns),
        **{f"plots/{p.file}": p.png for p in plots},
    }
    made = datetime.fromtimestamp(now_ns // 1_000_000_000, UTC).timetuple()[:6]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            path = f"{account.incident.label}/{name}"
            archive.writestr(zipfile.ZipInfo(path, made), body, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _plots(incident: IncidentInfo) -> list[Plot]:
    """The loss around the onset, and the signal that moved first."""
    if incident.onset_step is None:
        return []
    signal = incident.earliest_signal
    wanted = {"loss.png": naming.roles_of(incident.run_id).loss}
    if signal is not None and signal.series != wanted["loss.png"]:
        wanted["first-to-move.png"] = signal.series
    keys = [key for key in wanted.values() if key is not None]
    first = max(0, incident.onset_step - _PLOT_STEPS)
    last = incident.onset_step + _PLOT_STEPS
    rows = metrics.read_rows(incident.run_id, incident.attempt, keys, first, last) if keys else {}
    found = []
    for file, key in wanted.items():
        if key is not None and key in rows:
            step, _, value = rows[key]
            curve = plot.Curve(key, step, value, incident.onset_step)
            png = plot.draw(curve)
            found += [Plot(file, plot.describe(curve), png)] if png else []
    return found
