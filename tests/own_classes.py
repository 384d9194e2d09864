"""Fault classes of a project for tests."""

from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.ownclasses import OwnClass, OwnClasses
from apps.logs.domain.triage.owntaxonomy import with_own

LANE = OwnClass(
    key="lane_lost",
    title="A lane of the fabric was lost",
    patterns=(r"fabric lane \d+ lost", r"(?i)plane [a-d] down"),
    blame="network",
    layer="network",
    action="call the fabric team",
)


def own(*classes, version=1, off=()):
    return OwnClasses(classes or (LANE,), tuple(off), version)


def with_lane(*classes, **said):
    """The built-in classes and those of a project."""
    return with_own(taxonomy(), own(*classes, **said))
