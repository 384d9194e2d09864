"""Saying what a project is for."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.records import Actor
from apps.accounts.services import audit, require
from apps.core.errors import Refused
from apps.runs import project_store
from apps.runs.project_store import About

MAX_CHARS = 1_000


def describe(project: str, text: str, *, actor: Actor, now_ns: int) -> None:
    """What a project is for, "" for nothing. Needs the scope admin; audited where it is new."""
    require(actor, "admin")
    if len(text) > MAX_CHARS:
        hint = f"at most {MAX_CHARS:,} characters"
        raise Refused("this is too long", where="description", hint=hint)
    with transaction.atomic():
        before = project_store.about(project).text
        if text == before:
            return
        project_store.save_about(project, About(text, actor.name, now_ns))
        who = f"project {project or '-'}"
        audit(actor, "project.described", who, before={"text": before}, after={"text": text})
