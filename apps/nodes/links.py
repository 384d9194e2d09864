"""Link tests: taken, judged, and told as events of the hosts that stand out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit
from apps.core.errors import AppError
from apps.core.records import NodeEvent
from apps.nodes import links_store, store
from apps.nodes.domain.links import judge
from apps.nodes.domain.linktext import is_name, read
from apps.nodes.links_store import LinkTestInfo, NewTest

MAX_BODY_BYTES = 16 << 20
MAX_NAME_CHARS = 100
SOURCE = "link test"
_FUTURE_NS = 86_400 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """What somebody sends. pair: the hosts of an output that names none. measured_ns: None: now."""

    body: bytes
    name: str = ""
    pair: tuple[str, str] | None = None
    measured_ns: int | None = None


def take(sent: Sent, actor: Actor, now_ns: int) -> LinkTestInfo:
    """Keeps a test with its verdict, and tells the hosts that stand out; all or nothing.

    The same bytes for the same hosts and time are one test, however often they come. AppError for
    what cannot be read. 1,024 hosts, a million pairs: 3 s, most of it to read them.
    """
    name = _checked(sent, now_ns)
    digest = _digest(sent)
    known = links_store.by_digest(digest)
    if known is not None:
        return known
    table = read(sent.body, sent.pair)
    verdict = judge(table.hosts, table.matrix)
    measured_ns = now_ns if sent.measured_ns is None else sent.measured_ns
    test = NewTest(digest, name or table.tool, measured_ns, actor.name, table, verdict)
    with transaction.atomic():
        info, new = links_store.add(test, now_ns)
        if not new:
            return info
        store.record(list(_events(info)))
        after = {"name": info.name, "hosts": info.hosts, "verdict": info.sentences[:10]}
        audit(actor, "links.tested", f"link test {info.id}", after=after)
    return info


def _checked(sent: Sent, now_ns: int) -> str:
    """The name without what no name holds; AppError for what cannot be."""
    if len(sent.body) > MAX_BODY_BYTES:
        raise AppError(f"a test has at most {MAX_BODY_BYTES >> 20} MiB", hint="send parts of it")
    if sent.pair is not None and not all(map(is_name, sent.pair)):
        raise AppError("both hosts are needed, or none", where="a, b")
    if sent.measured_ns is not None and not 0 < sent.measured_ns < now_ns + _FUTURE_NS:
        raise AppError("that time has not come yet", where="time_ns", hint="Unix nanoseconds")
    name = " ".join(sent.name.replace("\0", " ").split())
    if len(name) > MAX_NAME_CHARS:
        raise AppError(f"a name has at most {MAX_NAME_CHARS} characters", where="name")
    return name


def _digest(sent: Sent) -> str:
    said = f"{sent.pair}\0{sent.measured_ns}\0".encode()
    return hashlib.sha256(said + sent.body).hexdigest()


def _events(info: LinkTestInfo) -> Iterator[NodeEvent]:
    """One event for each host and each end of a link that stands out."""
    verdict, words = info.verdict, iter(info.verdict.sentences)
    for host in verdict.slow_hosts:
        yield _event(info, host.host, "host_links_slow", next(words))
    for link in verdict.slow_links:
        text = next(words)
        for end in (link.a, link.b):
            yield _event(info, end, "link_slow", text)
    for host in verdict.inside:
        yield _event(info, host.host, "gpu_links_slow", next(words))
    for a, b in info.wrong:
        for end in {a, b}:
            yield _event(info, end, "link_wrong_data", f"wrong data between {a} and {b}")


def _event(info: LinkTestInfo, node: str, kind: str, message: str) -> NodeEvent:
    severe = kind == "link_wrong_data"
    return NodeEvent(
        node=node,
        time_ns=info.measured_ns,
        kind=kind,
        severity="critical" if severe else "warning",
        message=message,
        source=SOURCE,
        raw=f"link test {info.id}: {info.name}",
        key=f"{info.id}:{kind}:{message}",
    )
