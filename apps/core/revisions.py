"""Rules of a project that are stored as a whole, each change as a version one higher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Model


def save_revision(model: type[Model], project: str, values: Mapping[str, Any]) -> bool:
    """Stores version n over version n - 1; False if somebody else has stored one meanwhile.

    model: one row a project. values: of its columns as they are read back (JSON: lists, not
    tuples), `version` among them. At most three statements, each by the primary key.
    """
    version = values["version"]
    rows = model._default_manager.filter(project=project)
    if rows.filter(version=version - 1).update(**values):
        return True
    if version > 1:
        return False
    model._default_manager.bulk_create([model(project=project, **values)], ignore_conflicts=True)
    return rows.values(*values).first() == dict(values)
