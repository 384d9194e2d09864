"""The kinds of launchers: how each is configured and made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings

from apps.core.errors import AppError
from apps.rollbacks.domain import slurm
from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.launchers.protocol import Launcher, Note
from apps.rollbacks.launchers.slurm import Slurm

WORDS: Mapping[Kind, str] = {Kind.SLURM: "Slurm"}
"""The kinds that may be chosen, as people call them."""
BY_ADDRESS: frozenset[Kind] = frozenset()
"""The kinds that are reached over HTTP, with a token."""


@dataclass(frozen=True, slots=True)
class Access:
    """What opens the other side. url, token, ca: "" where its commands know the way. None of them
    appears in a repr."""

    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)


def checked(kind: Kind, said: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as a person entered it, ready to be kept. AppError names the field."""
    if kind not in WORDS:
        raise AppError(f"{kind.value} is no kind of launcher here", where="kind")
    return asdict(slurm.config(said, settings.SLURM_SCRIPTS))


def made(kind: Kind, config: Mapping[str, Any], access: Access, note: Note) -> Launcher:
    """The launcher. Checks the configuration again: what was allowed once may not be any more."""
    return Slurm(slurm.config(config, settings.SLURM_SCRIPTS), note)
