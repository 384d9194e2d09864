"""The built-in fault classes together with those of a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apps.logs.domain.triage.classify import Taxonomy, taxonomy_of
from apps.logs.domain.triage.ownclasses import OwnClasses
from apps.logs.domain.triage.ownmatching import matcher_of

NEEDED = frozenset({"py_exception"})
"""Found by a regex, but the rule refines it by the lines after it (roots.py)."""


def with_own(built_in: Taxonomy, own: OwnClasses) -> Taxonomy:
    """The taxonomy of a project; the built-in one itself where the project says nothing.

    About 20 ms, and 1 ms a class of the project.
    """
    if not own.version:
        return built_in
    kept = {id_: fault for id_, fault in built_in.classes.items() if id_ not in own.off}
    matcher = matcher_of(own.classes)
    base = taxonomy_of(built_in.version, kept) if own.off else built_in
    return replace(
        base, classes=kept | matcher.faults, own=matcher, revision=own.version, _by_shape={}
    )


def can_be_off(built_in: Taxonomy) -> Mapping[str, bool]:
    """id of each built-in class -> whether a project can do without it."""
    return {
        fault.id: bool(fault.regexes) and fault.id not in NEEDED
        for fault in built_in.classes.values()
    }
