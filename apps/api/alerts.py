"""Rules, channels and the delivery log of alerts."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Query, Router, Schema

from apps.alerts import (
    channels,
    channels_store,
    log_store,
    retrying,
    routing,
    rules,
    rules_store,
)
from apps.alerts.channels import ChannelAsked, Saved
from apps.alerts.domain.message import Kind, Status
from apps.alerts.domain.outgoing import Verdict
from apps.alerts.domain.routing import ChannelKind, Rule
from apps.alerts.log_store import LogQuery
from apps.alerts.rules_store import RuleInfo
from apps.alerts.store import Address
from apps.api.auth import caller, needs
from apps.api.errors import Missing
from apps.api.lookup import incident_of
from apps.core.clock import now_ns
from apps.core.records import FindingSeverity

router = Router(auth=needs("read"))
Number = Annotated[int, Field(ge=0, lt=2**63)]


class Loud(StrEnum):
    """The severities that are sent."""

    PAGE = "page"
    WARN = "warn"


class RuleIn(Schema):
    """An incident that fits every condition goes to the channels. kinds: empty is every kind.
    everybody: to the default recipients, too. version: the one that was read, for a change."""

    name: str
    severities: list[Loud] = Field(default_factory=lambda: [Loud.PAGE])
    kinds: list[str] = Field(default_factory=list)
    project: str = ""
    tag: str = ""
    owner: str = ""
    channels: list[Number] = Field(default_factory=list, max_length=500)
    everybody: bool = False
    enabled: bool = True
    version: int = 0

    def rule(self, number: int = 0) -> Rule:
        said = self.model_dump(exclude={"version"})
        loud = frozenset(FindingSeverity(one) for one in said.pop("severities"))
        kinds, named = frozenset(said.pop("kinds")), tuple(said.pop("channels"))
        return Rule(id=number, severities=loud, kinds=kinds, channels=named, **said)


class RuleOut(Schema):
    id: int
    name: str
    severities: list[str]
    kinds: list[str]
    project: str
    tag: str
    owner: str
    channels: list[int]
    everybody: bool
    enabled: bool
    version: int
    changed_at_ns: int
    changed_by: str


class RuleList(Schema):
    """default_recipients: who is told of the pages that no rule speaks of."""

    items: list[RuleOut]
    default_recipients: list[str]


class PreviewOut(Schema):
    """incidents: ids of those the rule would have sent, newest first. whole: none was left out."""

    days: int
    fits: int
    looked_at: int
    incidents: list[int]
    whole: bool


class ChannelIn(Schema):
    """address, secret: "" in a change keeps what there is; a new address needs its secret again."""

    name: str
    kind: ChannelKind
    address: str = ""
    secret: str = ""
    project: str = ""
    enabled: bool = True
    version: int = 0

    def asked(self) -> ChannelAsked:
        return ChannelAsked(
            self.name, self.kind, self.address, self.secret, self.project, self.enabled
        )


class ChannelOut(Schema):
    """shown: of its address no more than may be seen."""

    id: int
    name: str
    kind: ChannelKind
    project: str
    shown: str
    enabled: bool
    version: int
    changed_at_ns: int
    changed_by: str
    tested_at_ns: int | None
    test_error: str


class SavedChannel(ChannelOut):
    """made_secret: the signing secret that was made for it, told this once; "" if none was."""

    made_secret: str


class TestOut(Schema):
    delivered: bool
    status: int
    error: str


class DeliveryOut(Schema):
    run_id: int
    incident_id: int
    recipient: str
    kind: str
    seq: int
    status: str
    due_at_ns: int
    planned_at_ns: int
    sent_at_ns: int | None
    latency_ms: int | None
    tries: int
    error: str
    subject: str


class DeliveryPage(Schema):
    items: list[DeliveryOut]
    next: int | None


class DeliveriesQuery(Schema):
    """recipient: a mail address or "channel:ID". incident: 0 for digests. before: `next` of the
    page before."""

    status: Status | None = None
    recipient: str = ""
    incident: Number | None = None
    before: Number | None = None
    limit: int = Field(50, ge=1, le=log_store.MAX_PAGE)


class RetryIn(Schema):
    """A message of the delivery log. incident: 0 for a digest."""

    incident: Number
    recipient: str
    kind: Kind
    seq: int = Field(ge=0, lt=2**31)


class RetryOut(Schema):
    due_at_ns: int


# -- rules


def _rule(info: RuleInfo) -> dict[str, Any]:
    said = asdict(info.rule)
    said |= {"severities": sorted(info.rule.severities), "kinds": sorted(info.rule.kinds)}
    who = {"changed_at_ns": info.changed_at_ns, "changed_by": info.changed_by}
    return {**said, "version": info.version, **who}


def _known_rule(id: int) -> RuleInfo:
    found = rules_store.info(id)
    if found is None:
        raise Missing("there is no such rule")
    return found


@router.get("/alerts/rules", response=RuleList, summary="Who is told of which incident")
def list_rules(request: HttpRequest) -> dict[str, Any]:
    items = [_rule(info) for info in rules_store.infos()]
    return {"items": items, "default_recipients": routing.recipients()}


@router.post("/alerts/rules", response=RuleOut, auth=needs("admin"), summary="Add a rule")
def add_rule(request: HttpRequest, payload: RuleIn) -> dict[str, Any]:
    return _rule(_known_rule(rules.add(payload.rule(), caller(request), now_ns())))


@router.post(
    "/alerts/rules/preview",
    response=PreviewOut,
    summary="What a rule would have sent in the last days; nothing is changed",
)
def preview_rule(request: HttpRequest, payload: RuleIn) -> dict[str, Any]:
    past = rules.history(now_ns())
    fits = past.fitting(payload.rule())
    return {
        "days": rules.DAYS,
        "fits": len(fits),
        "looked_at": len(past.incidents),
        "incidents": [incident.id for incident in fits],
        "whole": past.whole,
    }


@router.put("/alerts/rules/{id}", response=RuleOut, auth=needs("admin"), summary="Change a rule")
def change_rule(request: HttpRequest, id: Number, payload: RuleIn) -> dict[str, Any]:
    rules.change(id, payload.rule(id), payload.version, caller(request), now_ns())
    return _rule(_known_rule(id))


@router.delete(
    "/alerts/rules/{id}",
    response=RuleList,
    auth=needs("admin"),
    summary="Remove a rule; the answer is those that are left",
)
def remove_rule(request: HttpRequest, id: Number) -> dict[str, Any]:
    rules.remove(id, caller(request))
    return list_rules(request)


# -- channels


@router.get("/alerts/channels", response=list[ChannelOut], summary="Where messages may go")
def list_channels(request: HttpRequest) -> list[Any]:
    return channels_store.infos()


def _saved(saved: Saved) -> dict[str, Any]:
    info = channels_store.info(saved.id)
    if info is None:
        raise Missing("there is no such channel")
    return {**asdict(info), "made_secret": saved.made}


@router.post(
    "/alerts/channels",
    response=SavedChannel,
    auth=needs("admin"),
    summary="Add a channel",
    description="Its address and secret are kept encrypted and never told again. A webhook without "
    "a secret gets one, which this answer holds.",
)
def add_channel(request: HttpRequest, payload: ChannelIn) -> dict[str, Any]:
    return _saved(channels.add(payload.asked(), caller(request), now_ns()))


@router.put(
    "/alerts/channels/{id}", response=SavedChannel, auth=needs("admin"), summary="Change a channel"
)
def change_channel(request: HttpRequest, id: Number, payload: ChannelIn) -> dict[str, Any]:
    who, moment = caller(request), now_ns()
    return _saved(channels.change(id, payload.asked(), payload.version, who, moment))


@router.delete(
    "/alerts/channels/{id}",
    response=list[ChannelOut],
    auth=needs("admin"),
    summary="Remove a channel that no rule names; the answer is those that are left",
)
def remove_channel(request: HttpRequest, id: Number) -> list[Any]:
    channels.remove(id, caller(request))
    return channels_store.infos()


@router.post(
    "/alerts/channels/{id}/test",
    response=TestOut,
    auth=needs("operate"),
    summary="Send a test message and wait for the answer",
)
def test_channel(request: HttpRequest, id: Number) -> dict[str, Any]:
    answer = channels.test(id, caller(request), now_ns())
    taken = answer.verdict is Verdict.TAKEN
    return {"delivered": taken, "status": answer.status, "error": answer.text}


# -- the delivery log


@router.get("/alerts/deliveries", response=DeliveryPage, summary="Every message, newest first")
def list_deliveries(request: HttpRequest, query: Query[DeliveriesQuery]) -> dict[str, Any]:
    about = query.incident
    run_id = incident_of(about).run_id if about else 0
    found = log_store.page(
        LogQuery(
            status=query.status.value if query.status else "",
            recipient=query.recipient,
            incident=None if about is None else (run_id, about),
            before_ns=query.before,
            limit=query.limit,
        )
    )
    return {"items": found.rows, "next": found.next_ns}


@router.post(
    "/alerts/deliveries/retry",
    response=RetryOut,
    auth=needs("operate"),
    summary="Try a message again now that failed or waits for its next try",
)
def retry_delivery(request: HttpRequest, payload: RetryIn) -> dict[str, int]:
    run_id = incident_of(payload.incident).run_id if payload.incident else 0
    address, moment = Address(run_id, payload.incident, payload.recipient), now_ns()
    retrying.retry(address, payload.kind, payload.seq, caller(request), moment)
    return {"due_at_ns": moment}
