"""Setting up who starts a run, by administrators; every change is audited, no secret is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import AppError, Conflict, NotFound, Refused
from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.launchers import bindings_store as store
from apps.rollbacks.launchers import handing, kinds
from apps.rollbacks.launchers.bindings_store import BindingInfo
from apps.rollbacks.launchers.http import Access
from apps.runs import store as runs
from apps.runs.records import RunInfo

MAX_URL, MAX_TOKEN, MAX_CA = 2_000, 20_000, 100_000


@dataclass(frozen=True, slots=True)
class BindingAsked:
    """What a person wants. access: "" in a field keeps what there is. version: of what the person
    has seen, 0 for a new binding. whole_project: for every run of the project."""

    kind: Kind
    config: Mapping[str, Any]
    access: Access = field(default_factory=Access)
    whole_project: bool = False
    automatic: bool = False
    enabled: bool = True
    version: int = 0


def save(run: RunInfo, asked: BindingAsked, actor: Actor, now_ns: int) -> None:
    """Sets who starts a run or its project. Needs the scope admin: the server will command a
    cluster. AppError names the field at fault, Conflict if somebody was faster."""
    require(actor, "admin")
    run_key = "" if asked.whole_project else run.key
    with transaction.atomic():
        runs.lock_run(run.id)
        before = store.get(run.project, run_key)
        access = _access(asked, before)
        values = {
            "kind": asked.kind.value,
            "config": kinds.checked(asked.kind, asked.config),
            "sealed": handing.sealed(access) if access != Access() else "",
            "shown": urlsplit(access.url).netloc[:300],
            "automatic": asked.automatic,
            "enabled": asked.enabled,
            "changed_at_ns": now_ns,
            "changed_by": actor.name[:200],
        }
        _write(run, run_key, asked.version, values)
        told = {name: values[name] for name in _TOLD}
        if asked.access != Access():
            told["access"] = "new"
        audit(actor, "launcher.set", _called(run, run_key), before=_told(before), after=told)


def remove(run: RunInfo, actor: Actor, *, whole_project: bool) -> None:
    """Takes a binding away. Needs the scope admin. NotFound without one. A hand-over that is at
    work fails with its next round."""
    require(actor, "admin")
    run_key = "" if whole_project else run.key
    with transaction.atomic():
        before = store.get(run.project, run_key)
        if before is None:
            raise NotFound("there is no such launcher", where="launcher")
        store.remove(before.id)
        audit(actor, "launcher.removed", _called(run, run_key), before=_told(before))


_TOLD = ("kind", "config", "shown", "automatic", "enabled")


def _write(run: RunInfo, run_key: str, version: int, values: Mapping[str, Any]) -> None:
    before = store.get(run.project, run_key)
    if before is None:
        if store.count() >= store.MAX_BINDINGS:
            raise Refused(f"there are {store.MAX_BINDINGS} launchers already")
        if store.add(run.project, run_key, values):
            return
    elif store.change(before.id, version, values):
        return
    raise Conflict(
        f"{before.changed_by if before else 'somebody'} changed this launcher meanwhile",
        hint="look at it again, then repeat your change",
    )


def _access(asked: BindingAsked, before: BindingInfo | None) -> Access:
    """The access after a change. With another address the token has to be entered again: a kept
    one would be sent to a place it was not meant for."""
    if asked.kind not in kinds.BY_ADDRESS:
        return Access()
    said = asked.access
    _check_sizes(said)
    kept = handing.unsealed(before.sealed) if before and before.kind is asked.kind else Access()
    url = said.url.strip().rstrip("/") or kept.url
    _check_url(url)
    if url != kept.url:
        kept = Access()
    found = replace(kept, url=url)
    if said.token.strip():
        found = replace(found, token=said.token.strip())
    if said.ca.strip():
        found = replace(found, ca=said.ca.strip())
    if not found.token:
        raise AppError("a token is missing", where="token", hint="of a service account")
    return found


def _check_sizes(said: Access) -> None:
    for name, limit in (("url", MAX_URL), ("token", MAX_TOKEN), ("ca", MAX_CA)):
        if len(getattr(said, name)) > limit:
            raise AppError(f"at most {limit} characters", where=name)
    token = said.token.strip()
    if not token.isascii() or any(sign.isspace() for sign in token):
        raise AppError("a token is one word of ASCII", where="token")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.username or parts.query or parts.fragment:
        raise AppError(
            "this is no http or https address", where="url",
            hint="such as https://kubernetes.example.org:6443",
        )  # fmt: skip


def _called(run: RunInfo, run_key: str) -> str:
    return f"launcher of run {run_key}" if run_key else f"launcher of project {run.project or '-'}"


def _told(before: BindingInfo | None) -> dict[str, Any]:
    if before is None:
        return {}
    return {name: getattr(before, name) for name in _TOLD}
