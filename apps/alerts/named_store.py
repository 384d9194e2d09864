"""Rows of a table whose names are taken once and whose changes have a version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Model


@dataclass(frozen=True, slots=True)
class NamedRows:
    """What channels and rules have in common. row: a model with `name` and `version`."""

    row: type[Model]

    def count(self) -> int:
        """How many there are."""
        return self.row._default_manager.count()

    def name_taken(self, name: str, but: int = 0) -> bool:
        """Whether another one is called so, whatever the capitals."""
        return self.row._default_manager.filter(name__iexact=name).exclude(pk=but).exists()

    def add(self, values: Mapping[str, Any]) -> int:
        """A new one's number."""
        return int(self.row._default_manager.create(**values).pk)

    def change(self, number: int, version: int, values: Mapping[str, Any]) -> bool:
        """False if `version` is no longer the newest."""
        rows = self.row._default_manager.filter(pk=number, version=version)
        return rows.update(version=version + 1, **values) == 1
