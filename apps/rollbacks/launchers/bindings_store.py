"""Every statement against the bindings of launchers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from apps.rollbacks.domain.handover import Kind
from apps.rollbacks.models import LauncherBinding

MAX_BINDINGS = 1_000


@dataclass(frozen=True, slots=True)
class BindingInfo:
    """Who starts a run, or every run of a project where run_key is "". shown: of its address no
    more than may be seen."""

    id: int
    project: str
    run_key: str
    kind: Kind
    config: dict[str, Any]
    shown: str
    automatic: bool
    enabled: bool
    version: int
    changed_at_ns: int
    changed_by: str
    sealed: str = field(repr=False)


def of_run(run_key: str, project: str) -> BindingInfo | None:
    """The binding of a run: its own, else its project's; also one that is switched off.
    -- uses one_launcher_a_scope"""
    rows = LauncherBinding.objects.filter(Q(run_key="") | Q(run_key=run_key), project=project)
    row = rows.order_by("-run_key").first()
    return _info(row) if row else None


def get(project: str, run_key: str) -> BindingInfo | None:
    """The binding of exactly this scope. -- uses one_launcher_a_scope"""
    row = LauncherBinding.objects.filter(project=project, run_key=run_key).first()
    return _info(row) if row else None


def by_id(binding_id: int) -> BindingInfo | None:
    """One binding."""
    row = LauncherBinding.objects.filter(pk=binding_id).first()
    return _info(row) if row else None


def infos() -> list[BindingInfo]:
    """All bindings by project and run, at most MAX_BINDINGS."""
    rows = LauncherBinding.objects.order_by("project", "run_key")[:MAX_BINDINGS]
    return [_info(row) for row in rows]


def count() -> int:
    """How many there are."""
    return LauncherBinding.objects.count()


def add(project: str, run_key: str, values: Mapping[str, Any]) -> bool:
    """Writes a new binding; False if its scope has one."""
    scope = {"project": project, "run_key": run_key}
    return LauncherBinding.objects.get_or_create(**scope, defaults=values)[1]


def change(binding_id: int, version: int, values: Mapping[str, Any]) -> bool:
    """False if `version` is no longer the newest."""
    rows = LauncherBinding.objects.filter(pk=binding_id, version=version)
    return rows.update(version=version + 1, **values) == 1


def remove(binding_id: int) -> bool:
    """False if there was none."""
    return LauncherBinding.objects.filter(pk=binding_id).delete()[0] > 0


def _info(row: LauncherBinding) -> BindingInfo:
    return BindingInfo(
        row.pk,
        row.project,
        row.run_key,
        Kind(row.kind),
        row.config,
        row.shown,
        row.automatic,
        row.enabled,
        row.version,
        row.changed_at_ns,
        row.changed_by,
        row.sealed,
    )
