"""Bandwidth tests between hosts, and which hosts and links they show to be slow."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.core.clock import now_ns
from apps.core.words import MAX_WHOLE
from apps.ingest.views import body_of
from apps.nodes import links, links_store
from apps.nodes.domain.linktext import MAX_NAME
from apps.nodes.links_store import LinkTestInfo

router = Router(auth=needs("read"))
Number = Annotated[int, Field(ge=0, le=MAX_WHOLE)]
Host = Annotated[str, Field(max_length=MAX_NAME)]


class LinkTestAsk(Schema):
    """name: for people. a, b: between which hosts, for one output of perftest. time_ns: when it was
    measured, Unix; now if it is left out."""

    name: Annotated[str, Field(max_length=links.MAX_NAME_CHARS)] = ""
    a: Host = ""
    b: Host = ""
    time_ns: Number | None = None


class SlowHostOut(Schema):
    host: str
    gbit_s: float
    ratio: float
    partners: int


class SlowLinkOut(Schema):
    a: str
    b: str
    gbit_s: float
    ratio: float
    both: bool
    sure: bool


class LinkTestOut(Schema):
    number: int
    name: str
    tool: str
    measured_ns: int
    sent_by: str
    hosts: int
    pairs: int
    median_gbit_s: float
    quiet: bool
    sentences: list[str]
    slow_hosts: list[SlowHostOut]
    slow_links: list[SlowLinkOut]
    slow_inside: list[SlowHostOut]
    wrong_data: list[list[str]]
    left_out: dict[str, int]


class LinkTestList(Schema):
    items: list[LinkTestOut]


def _shape(info: LinkTestInfo) -> dict[str, Any]:
    verdict = info.verdict
    return {
        "number": info.id,
        "name": info.name,
        "tool": info.tool,
        "measured_ns": info.measured_ns,
        "sent_by": info.sent_by,
        "hosts": info.hosts,
        "pairs": verdict.pairs,
        "median_gbit_s": verdict.median_gbit_s,
        "quiet": info.quiet,
        "sentences": info.sentences,
        "slow_hosts": verdict.slow_hosts,
        "slow_links": verdict.slow_links,
        "slow_inside": verdict.inside,
        "wrong_data": [list(pair) for pair in info.wrong],
        "left_out": dict(info.left_out),
    }


@router.post(
    "/link-tests",
    response=LinkTestOut,
    auth=needs("ingest", "operate"),
    summary="Send the output of a link test",
    description="The body is what nccl-tests printed (text or the file of `-J`), what perftest "
    "printed, each output after a line `# pair A B`, or CSV with columns such as a,b,gbit_s. The "
    "answer names slow hosts and slow links; they become events of these hosts. The same body "
    "again is the same test.",
)
def add_link_test(request: HttpRequest, ask: Query[LinkTestAsk]) -> dict[str, Any]:
    body = body_of(request, links.MAX_BODY_BYTES)
    pair = (ask.a, ask.b) if ask.a or ask.b else None
    sent = links.Sent(body, ask.name, pair, ask.time_ns)
    return _shape(links.take(sent, caller(request), now_ns()))


@router.get("/link-tests", response=LinkTestList, summary="Link tests, newest first")
def list_link_tests(request: HttpRequest) -> dict[str, Any]:
    return {"items": [_shape(info) for info in links_store.newest()]}


@router.get("/link-tests/{number}", response=LinkTestOut, summary="One link test")
def get_link_test(request: HttpRequest, number: Number) -> dict[str, Any]:
    info = links_store.get(number)
    if info is None:
        raise Missing("no such link test", where="number")
    return _shape(info)
