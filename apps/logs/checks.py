"""Start-up checks of logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register

from apps.logs.domain.triage.classify import BadTaxonomy, taxonomy


@register()
def taxonomy_is_usable(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """The fault classes compile, and each has an id and a role."""
    try:
        taxonomy()
    except BadTaxonomy as error:
        return [Error(f"{error.where}: {error.message}", hint=error.hint, id="logs.E001")]
    return []
