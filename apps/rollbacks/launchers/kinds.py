"""The kinds of launchers: how each is configured and made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.conf import settings

from apps.rollbacks.domain import argo, kubernetes, slurm
from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.launchers.argo import Argo
from apps.rollbacks.launchers.http import Access, Api
from apps.rollbacks.launchers.kubernetes import Kubernetes
from apps.rollbacks.launchers.protocol import Launcher, Note
from apps.rollbacks.launchers.slurm import Slurm

WORDS: Mapping[Kind, str] = {
    Kind.SLURM: "Slurm",
    Kind.KUBERNETES: "Kubernetes",
    Kind.ARGO: "Argo Workflows",
}
"""The kinds that may be chosen, as people call them."""
BY_ADDRESS = frozenset({Kind.KUBERNETES, Kind.ARGO})
"""The kinds that are reached over HTTP, with a token."""


def checked(kind: Kind, said: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as a person entered it, ready to be kept. AppError names the field."""
    match kind:
        case Kind.SLURM:
            return asdict(slurm.config(said, settings.SLURM_SCRIPTS))
        case Kind.KUBERNETES:
            return asdict(kubernetes.config(said))
        case Kind.ARGO:
            return asdict(argo.config(said))


def made(kind: Kind, config: Mapping[str, Any], access: Access, note: Note) -> Launcher:
    """The launcher. Checks the configuration again: what was allowed once may not be any more."""
    match kind:
        case Kind.SLURM:
            return Slurm(slurm.config(config, settings.SLURM_SCRIPTS), note)
        case Kind.KUBERNETES:
            return Kubernetes(kubernetes.config(config), Api(access, note))
        case Kind.ARGO:
            return Argo(argo.config(config), Api(access, note))
