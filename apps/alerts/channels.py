"""Adding, changing, testing and removing channels; every change is audited, no secret is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.alerts import channels_store as store
from apps.alerts import delivering, rules_store
from apps.alerts.channels_store import ChannelInfo
from apps.alerts.domain.access import Access, checked, shown
from apps.alerts.domain.outgoing import Answer, Verdict
from apps.alerts.domain.routing import ChannelKind
from apps.alerts.sealing import seal, unseal
from apps.core.errors import AppError, Conflict, NotFound, Refused

MAX_NAME, MAX_PROJECT = 100, 200


@dataclass(frozen=True, slots=True)
class ChannelAsked:
    """What a person wants of a channel. url, secret: "" in a change keeps what there is."""

    name: str
    kind: ChannelKind
    url: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    project: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Saved:
    """made: the signing secret that was made for it, to be shown this once; "" if none was."""

    id: int
    made: str = field(default="", repr=False)


def add(asked: ChannelAsked, actor: Actor, now_ns: int) -> Saved:
    """A new channel. Needs the scope admin: the server will speak to its address.

    AppError names the field at fault.
    """
    require(actor, "admin")
    access = checked(asked.kind, asked.url, asked.secret)
    with transaction.atomic():
        rules_store.one_at_a_time()
        values = _values(asked, access, actor, now_ns)
        if store.count() >= store.MAX_CHANNELS:
            raise Refused(f"there are {store.MAX_CHANNELS} channels already", where="name")
        _name_free(asked.name.strip(), 0)
        number = store.add({**values, "kind": asked.kind.value})
        audit(actor, "alert_channel.added", _called(number, asked), after=_told(asked, values))
    return Saved(number, _made(asked, access))


def change(channel_id: int, asked: ChannelAsked, version: int, actor: Actor, now_ns: int) -> Saved:
    """Changes a channel, never its kind. Needs the scope admin.

    With a new address the secret has to be entered again (or is made anew): a kept one would be
    sent to, or be known at, a place it was not meant for. Conflict if somebody was faster.
    """
    require(actor, "admin")
    with transaction.atomic():
        rules_store.one_at_a_time()
        before = _known(channel_id)
        asked = _of_kind(asked, before.kind)
        access = _access(channel_id, asked)
        values = _values(asked, access, actor, now_ns)
        _name_free(asked.name.strip(), channel_id)
        if not store.change(channel_id, version, values):
            raise Conflict(
                f"{before.changed_by} changed this channel meanwhile",
                hint="look at it again, then repeat your change",
            )
        told = _told(asked, values)
        now = {**told, "access": "new"} if asked.url or asked.secret else told
        audit(
            actor,
            "alert_channel.changed",
            _called(channel_id, asked),
            before=_told_before(before),
            after=now,
        )
    return Saved(channel_id, _made(asked, access) if asked.url else "")


def remove(channel_id: int, actor: Actor) -> None:
    """Needs the scope admin. Refused while a rule names the channel."""
    require(actor, "admin")
    with transaction.atomic():
        rules_store.one_at_a_time()
        before = _known(channel_id)
        users = [rule.name for rule in rules_store.rules() if channel_id in rule.channels]
        if users:
            raise Refused(
                f"rules use this channel: {', '.join(users)}",
                hint="take it out of them first, or switch it off",
            )
        store.remove(channel_id)
        what = f"channel {before.name} ({channel_id})"
        audit(actor, "alert_channel.removed", what, before=_told_before(before))


def test(channel_id: int, actor: Actor, now_ns: int) -> Answer:
    """Sends a test message and remembers how it fared. Needs the scope operate.

    Blocks for up to HttpPolicy.total_s, for a mail as long as the mail server takes.
    """
    require(actor, "operate")
    before = _known(channel_id)
    sealed = store.access(channel_id)
    if sealed is None:
        raise _missing()
    try:
        answer = delivering.try_out(before.kind, before.name, unseal(sealed.sealed), now_ns)
    except AppError as error:
        answer = Answer(Verdict.NEVER, 0, str(error))
    with transaction.atomic():
        store.note_test(channel_id, now_ns, answer.text)
        audit(
            actor,
            "alert_channel.tested",
            f"channel {before.name} ({channel_id})",
            after={"result": answer.text or "delivered"},
        )
    return answer


def unreadable() -> list[str]:
    """Names of channels whose secrets cannot be decrypted any more. One statement."""
    found = []
    for name, sealed in store.sealed().items():
        try:
            unseal(sealed)
        except AppError:
            found.append(name)
    return found


def _known(channel_id: int) -> ChannelInfo:
    found = store.info(channel_id)
    if found is None:
        raise _missing()
    return found


def _missing() -> NotFound:
    return NotFound("there is no such channel", hint="see /alerts/ for those there are")


def _of_kind(asked: ChannelAsked, kind: ChannelKind) -> ChannelAsked:
    if asked.kind is not kind:
        raise AppError("the kind of a channel stays", where="kind", hint="add another channel")
    return asked


def _access(channel_id: int, asked: ChannelAsked) -> Access:
    """The access after a change."""
    if asked.url:
        return checked(asked.kind, asked.url, asked.secret)
    sealed = store.access(channel_id)
    kept = unseal(sealed.sealed if sealed else "")
    if not asked.secret:
        return kept
    return checked(asked.kind, kept.url, asked.secret)


def _values(asked: ChannelAsked, access: Access, actor: Actor, now_ns: int) -> dict[str, Any]:
    name, project = asked.name.strip(), asked.project.strip()
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise AppError(f"a channel needs a name of 1 to {MAX_NAME} characters", where="name")
    if len(project) > MAX_PROJECT:
        raise AppError(f"a project has at most {MAX_PROJECT} characters", where="project")
    return {
        "name": name,
        "project": project,
        "enabled": asked.enabled,
        "sealed": seal(access),
        "shown": shown(asked.kind, access)[:300],
        "changed_at_ns": now_ns,
        "changed_by": actor.name[:200],
    }


def _name_free(name: str, but: int) -> None:
    if store.name_taken(name, but):
        raise AppError(f"another channel is called {name}", where="name")


def _made(asked: ChannelAsked, access: Access) -> str:
    return access.secret if asked.kind is ChannelKind.WEBHOOK and not asked.secret else ""


def _called(channel_id: int, asked: ChannelAsked) -> str:
    return f"channel {asked.name.strip()} ({channel_id})"


def _told(asked: ChannelAsked, values: dict[str, Any]) -> dict[str, Any]:
    names = ("name", "project", "enabled", "shown")
    return {"kind": asked.kind.value, **{name: values[name] for name in names}}


def _told_before(before: ChannelInfo) -> dict[str, Any]:
    return {
        "kind": before.kind.value,
        "name": before.name,
        "project": before.project,
        "enabled": before.enabled,
        "shown": before.shown,
    }
