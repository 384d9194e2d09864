"""The doors for what happened to machines. They belong to no run.

Bodies are small and are read at once, so that a wrong one is answered in words; what is taken is
durable as at every door.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from apps.accounts.records import Actor
from apps.core.clock import now_ns
from apps.core.errors import AppError
from apps.core.http import json_response
from apps.core.words import whole
from apps.ingest.alertmanager.parse import parse as parse_alerts
from apps.ingest.exposition.parse import parse as parse_metrics
from apps.ingest.fabricmanager.parse import parse as parse_fabricmanager
from apps.ingest.gpud.parse import parse as parse_gpud
from apps.ingest.inflate import InflateLimits, inflate
from apps.ingest.ipmi.parse import parse as parse_sel
from apps.ingest.ipmi.parse import read_clock_ns
from apps.ingest.kernel.parse import parse as parse_kernel
from apps.ingest.kubernetes.parse import parse as parse_kubernetes
from apps.ingest.nodes import heard
from apps.ingest.nodes.parse import NodeBatch, Sender, pack
from apps.ingest.nvidia_smi.parse import parse as parse_nvidia_smi
from apps.ingest.slurm.parse import parse as parse_slurm
from apps.ingest.superbench.parse import parse as parse_superbench
from apps.ingest.views import View, accept_body, body_of, door, encoding_of

ENDPOINT = "nodes"
MAX_BODY_BYTES = 4 << 20
MAX_BOOT_S = 2**32
MAX_OFFSET_S = 14 * 3600


@door
def node_events(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Events in our own form."""
    encoding = encoding_of(request)
    body = body_of(request, settings.INGEST_MAX_BODY_BYTES)
    batch = accept_body(request, actor, ENDPOINT, body, encoding=encoding)
    heard.note("events", actor.name, now_ns(), 0, {})
    return json_response({"batch": batch}, 202)


Parser = Callable[[bytes, Sender], NodeBatch]

DOORS: dict[str, Parser] = {
    "alertmanager": lambda body, _: parse_alerts(body),
    "kernel": parse_kernel,
    "metrics": parse_metrics,
    "kubernetes": parse_kubernetes,
    "gpud": parse_gpud,
    "ipmi": parse_sel,
    "fabricmanager": parse_fabricmanager,
    "nvidia-smi": parse_nvidia_smi,
    "slurm": parse_slurm,
    "superbench": parse_superbench,
}
"""Last part of the address -> what reads the body."""


def told_by(name: str) -> View:
    """The door of one of DOORS. ?node=, ?boot_s=, ?utc_offset_s= and ?clock= say what the body
    does not."""

    @door
    def view(request: HttpRequest, actor: Actor) -> HttpResponse:
        said = Sender(
            node=request.GET.get("node", "").strip()[:253].replace("\0", ""),
            received_ns=now_ns(),
            boot_ns=_boot_ns(request.GET.get("boot_s", "")),
            offset_s=_offset_s(request.GET.get("utc_offset_s", "0")),
            clock_ns=_clock_ns(request.GET.get("clock", "")),
        )
        return _take(request, actor, name, DOORS[name](_body(request), said))

    return view


def _clock_ns(text: str) -> int | None:
    found = read_clock_ns(text) if text else None
    if text and found is None:
        hint = "what ipmitool sel time get says, such as 02/10/2026 14:25:30"
        raise AppError("this is no date with a time", where="clock", hint=hint)
    return found


def _boot_ns(text: str) -> int | None:
    seconds = whole(text, MAX_BOOT_S)
    if text and seconds is None:
        raise AppError("Unix seconds are expected", where="boot_s", hint="see docs/triage.md")
    return None if seconds is None else seconds * 1_000_000_000


def _offset_s(text: str) -> int:
    seconds = whole(text.removeprefix("-"), MAX_OFFSET_S)
    if seconds is None:
        raise AppError("seconds east of UTC are expected", where="utc_offset_s", hint="e.g. 7200")
    return -seconds if text.startswith("-") else seconds


def _body(request: HttpRequest) -> bytes:
    encoding = encoding_of(request)
    limits = InflateLimits(MAX_BODY_BYTES, settings.INGEST_MAX_RATIO)
    return inflate(body_of(request, MAX_BODY_BYTES), encoding, limits)


def _take(request: HttpRequest, actor: Actor, name: str, batch: NodeBatch) -> HttpResponse:
    taken = accept_body(request, actor, ENDPOINT, pack(batch))
    left_out = {why: count for why, count in batch.left_out.items() if count}
    told = len(batch.events) + len(batch.looks)
    heard.note(name, actor.name, now_ns(), told, left_out)
    answer = {"batch": taken, "events": len(batch.events), "left_out": left_out}
    return json_response(answer | ({"looks": len(batch.looks)} if batch.looks else {}), 202)
