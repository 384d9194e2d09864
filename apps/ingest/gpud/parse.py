"""What gpud answers at /v1/events and /v1/states: events and health of each component.

Plain Python. Shapes: https://github.com/leptonai/gpud, api/v1/types.go.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Final

import msgspec

from apps.core.errors import BadPayload
from apps.core.records import NodeEvent
from apps.ingest import frames
from apps.ingest.alertmanager.meaning import kind_named
from apps.ingest.nodes.parse import (
    MAX_EVENTS,
    MAX_MESSAGE,
    MAX_RAW,
    SMALLER,
    NodeBatch,
    Sender,
    clean,
)
from apps.ingest.readings import time_ns
from apps.nodes.domain.conditions import Look, Reading
from apps.nodes.domain.kernel import Fault, fault_of, pci
from apps.nodes.domain.xids import sxid, xid

SOURCE = "gpud"
_XID = re.compile(r"\b(?P<switch>s?)xid[ :=]{0,3}(?P<number>\d{1,6})\b", re.IGNORECASE)
_PCI = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?")
_UUID = re.compile(r"GPU-[0-9a-fA-F-]{8,36}")

SEVERITIES: Final = {"info": "info", "warning": "warning", "critical": "error", "fatal": "critical"}
"""Type of an event -> ours; an unknown one is a warning."""
HEALTH: Final = {"healthy": "", "initializing": "", "degraded": "warning", "unhealthy": "error"}
"""Health of a component -> severity; a word that is not known is a warning."""
_GRAVE: Final = frozenset({"HARDWARE_INSPECTION", "REBOOT_SYSTEM"})
_ACTIONS: Final = {
    "REBOOT_SYSTEM": "reboot the node",
    "HARDWARE_INSPECTION": "have the hardware looked at",
    "CHECK_USER_APP_AND_GPU": "look at the program and the GPU",
}


class _Event(msgspec.Struct, frozen=True):
    time: str = ""
    name: str = ""
    type: str = ""
    message: str = ""


class _Actions(msgspec.Struct, frozen=True):
    description: str = ""
    repair_actions: list[str] | None = None


class _State(msgspec.Struct, frozen=True):
    time: str | None = None
    name: str = ""
    health: str = ""
    reason: str = ""
    error: str = ""
    suggested_actions: _Actions | None = None


class _Component(msgspec.Struct, frozen=True):
    component: str
    events: list[_Event] | None = None
    states: list[_State] | None = None


_Body = Annotated[list[_Component], msgspec.Meta(max_length=MAX_EVENTS)]


def parse(body: bytes, sender: Sender) -> NodeBatch:
    """Events as they are, and health as states of the node. BadPayload names the wrong field."""
    node = sender.named()
    read = frames.decode(body, _Body)
    counts: Counter[str] = Counter()
    events = [
        _event(node, at_ns, one.component, event)
        for one in read
        for event in one.events or ()
        if (at_ns := _time(event.time, counts)) is not None
    ]
    readings = [
        _reading(one.component, state, counts) for one in read for state in one.states or ()
    ]
    if len(events) > MAX_EVENTS or len(readings) > MAX_EVENTS:
        raise BadPayload(f"more than {MAX_EVENTS} events", where="body", hint=SMALLER)
    look = Look(f"{SOURCE} states", node, sender.received_ns, tuple(readings))
    return NodeBatch(tuple(events), dict(counts), (look,) if readings else ())


def _time(text: str | None, counts: Counter[str]) -> int | None:
    at_ns = time_ns(text) if text else None
    if text and (at_ns is None or at_ns > 2**62):
        counts["gpud_times_unread"] += 1
        return None
    return at_ns


def fault_in(text: str, otherwise: Fault) -> Fault:
    """The Xid, SXid or message of the kernel that a text repeats."""
    found = _XID.search(text)
    if found is None:
        return fault_of(text) or otherwise
    number, place = int(found["number"]), _PCI.search(text)
    device = pci(place[0]) if place else otherwise.device
    if found["switch"]:
        fatal = otherwise.severity == "critical"
        code = sxid(number, fatal=fatal)
        kind, words = f"sxid_{'fatal' if fatal else 'nonfatal'}", f"SXid {number}: {code.words()}"
        return Fault(kind, code.severity, words, device)
    code = xid(number)
    return Fault(f"xid_{number}", code.severity, f"Xid {number}: {code.words()}", device)


def _fault(component: str, name: str, message: str, severity: str) -> Fault:
    text = message.replace("\0", "\ufffd")
    uuid = _UUID.search(text)
    own = Fault(
        kind_named(f"{component} {name}".removeprefix("accelerator-nvidia-"), "gpud"),
        severity,
        clean(f"{component}: {text or name}", MAX_MESSAGE),
        uuid[0] if uuid else None,
    )
    return fault_in(text, own)


def _event(node: str, at_ns: int, component: str, event: _Event) -> NodeEvent:
    severity = SEVERITIES.get(event.type.lower(), "warning")
    fault = _fault(component, event.name, event.message, severity)
    raw = clean(event.message, MAX_RAW)
    return NodeEvent(
        node=node,
        time_ns=at_ns,
        kind=fault.kind,
        severity=fault.severity,
        message=fault.message,
        device=fault.device,
        source=SOURCE,
        raw=raw,
        key=clean(f"{component}/{event.name}/{raw}", MAX_RAW),
    )


def _reading(component: str, state: _State, counts: Counter[str]) -> Reading:
    actions = (state.suggested_actions or _Actions()).repair_actions or []
    level = HEALTH.get(state.health.lower(), "warning")
    if level == "error" and _GRAVE & set(actions):
        level = "critical"
    fault = _fault(component, state.name, state.reason or state.error, level or "info")
    advice = ", ".join(_ACTIONS[one] for one in actions if one in _ACTIONS)
    message = f"{fault.message} (gpud: {advice})" if advice else fault.message
    return Reading(
        name=clean(f"{component}/{state.name}", 128),
        kind=fault.kind,
        level=level,
        message=clean(message, MAX_MESSAGE),
        device=fault.device,
        time_ns=_time(state.time, counts) if level else None,
        raw=clean(state.reason or state.error, MAX_RAW),
    )
