"""The help page: keys, words, and how states are decided."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.dashboard.help import Term, terms
from apps.runs.domain.contact import DEFAULT_POLICY
from apps.runs.domain.orphan import ORPHAN_NS

_GLOSSARY = "docs/glossary.md"


@lru_cache
def _terms() -> list[Term]:
    """The words of the glossary; none where the docs were not installed beside the program."""
    path = settings.BASE_DIR / _GLOSSARY
    return terms(path.read_text(encoding="utf-8")) if path.is_file() else []


@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """Needs no statement of its own."""
    context = {
        "terms": _terms(),
        "policy": DEFAULT_POLICY,
        "orphan_s": ORPHAN_NS / 1e9,
    }
    return render(request, "dashboard/help.html", context)
