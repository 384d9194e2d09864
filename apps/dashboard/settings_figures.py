"""What the index of the settings says of each section, in a few words."""

from __future__ import annotations

from collections import Counter

from django.conf import settings
from django.utils import timezone

from apps.accounts import people_store
from apps.accounts import store as accounts
from apps.accounts.records import Role
from apps.alerts import channels_store
from apps.checkpoints import roots_store
from apps.ingest import services as ingest
from apps.runs import store as runs

_ROLES = (
    (Role.ADMIN, "administrator"),
    (Role.OPERATOR, "operator"),
    (Role.VIEWER, "viewer"),
)


def figures() -> dict[str, str]:
    """slug of a section -> what it holds now."""
    return {
        "projects": _many(len(runs.projects()), "project"),
        "members": _people(),
        "tokens": _many(accounts.working_tokens(timezone.now()), "token"),
        "channels": _channels(),
        "retention": _kept(),
        "storage": _many(roots_store.count(), "root"),
        "ingest": _waiting(),
    }


def _many(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"


def _people() -> str:
    roles = Counter(one.role for one in people_store.people() if one.active)
    return ", ".join(_many(roles[role], word) for role, word in _ROLES if roles[role])


def _channels() -> str:
    found = channels_store.infos()
    off = sum(not one.enabled for one in found)
    return _many(len(found), "channel") + (f", {off} switched off" if off else "")


def _kept() -> str:
    days = settings.KEEP_LOGS_DAYS
    return f"log lines {f'{days} days' if days else 'for ever'}, where a project says nothing"


def _waiting() -> str:
    backlog = ingest.backlog()
    return "Valkey is away" if backlog is None else f"{backlog.entries or 'nothing'} waiting"
