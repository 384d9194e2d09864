"""A table that grows has a primary key that starts with the run, so that it can be sharded."""

import pytest
from django.apps import apps
from django.db import models

OURS = [model for model in apps.get_models() if model.__module__.startswith("apps.")]
SMALL = {
    "Run", "ProjectNames", "ProjectPolicy", "Node", "ApiToken", "LoginLink", "Channel", "Rule",
    "LeftRule", "LabelRules", "SeenLabels", "Refusal", "KeepRule", "Note", "OrdinaryTemplate",
    "Watch", "Habits", "Pulse", "EvaluationSuite", "StorageRoot", "RetentionRule",
    "LauncherBinding", "ProjectRules", "FaultClasses", "LinkTest",
    "ProjectSignals", "ProjectAbout", "AuditSeal", "SavedView", "Identity",
}  # fmt: skip
"""One row (or a fixed number) a run, project, node, token or person, or what a whole project has in
common: these do not grow with the data."""
OF_NODES = {"NodeEventRow", "NodeChange", "NodeConditionRow"}
"""What happens to nodes belongs to no run: the key starts with the node."""


def first_column(model):
    key = model._meta.pk
    return key.columns[0] if isinstance(key, models.CompositePrimaryKey) else key.column


@pytest.mark.parametrize(
    "model", [m for m in OURS if m.__name__ not in SMALL | OF_NODES], ids=lambda m: m.__name__
)
def test_the_key_starts_with_run_id(model):
    assert first_column(model) == "run_id"


@pytest.mark.parametrize("name", sorted(OF_NODES))
def test_what_happens_to_nodes_starts_with_the_node(name):
    assert first_column(apps.get_model("nodes", name)) == "node"


def test_no_growing_table_has_a_foreign_key():
    growing = [model for model in OURS if model.__name__ not in SMALL]
    keys = [f"{m.__name__}.{f.name}" for m in growing for f in m._meta.fields if f.is_relation]
    assert keys == []
