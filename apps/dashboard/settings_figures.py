"""What the index of the settings says of each section, in a few words."""

from __future__ import annotations

from collections import Counter

from django.conf import settings
from django.utils import timezone

from apps.accounts import people_store
from apps.accounts import store as accounts
from apps.alerts import channels_store
from apps.checkpoints import roots_store
from apps.core.words import many
from apps.dashboard.project_settings import lasting
from apps.dashboard.roles import ROLE_WORDS
from apps.ingest import services as ingest
from apps.runs import store as runs


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
    return many(count, word) if count else f"no {word}s"


def _people() -> str:
    roles = Counter(one.role for one in people_store.people() if one.active)
    words = ((roles[one.role], one.title.lower()) for one in reversed(ROLE_WORDS))
    return ", ".join(many(count, word) for count, word in words if count)


def _channels() -> str:
    found = channels_store.infos()
    off = sum(not one.enabled for one in found)
    return _many(len(found), "channel") + (f", {off} switched off" if off else "")


def _kept() -> str:
    return f"log lines {lasting(settings.KEEP_LOGS_DAYS)}, where a project says nothing"


def _waiting() -> str:
    backlog = ingest.backlog()
    return "Valkey is away" if backlog is None else f"{backlog.entries or 'nothing'} waiting"
