"""Workflows of Argo: where they are, and what a new one is given. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.core.errors import AppError
from apps.rollbacks.domain import kubernetes
from apps.rollbacks.domain.handover import Errand

KINDS: Final = {"workflowtemplate": "WorkflowTemplate", "clusterworkflowtemplate":
                "ClusterWorkflowTemplate"}  # fmt: skip
FROM_LABEL: Final = "workflows.argoproj.io/resubmitted-from-workflow"
"""Argo sets it on a workflow that it resubmits."""
ORDER_PARAMETER: Final = "lastgood_order"
ENDED: Final = frozenset({"Succeeded", "Failed", "Error"})


@dataclass(frozen=True, slots=True)
class ArgoConfig:
    """What starts a run. name: of the workflow that runs now; those that follow it are found by
    their label. template: submitted anew, of the kind `resource`; "": the workflow is resubmitted.
    """

    namespace: str
    name: str
    template: str = ""
    resource: str = "WorkflowTemplate"


def config(said: Mapping[str, Any]) -> ArgoConfig:
    """The configuration as a person entered it, checked. AppError names the field at fault."""
    fields = ("namespace", "name", "template")
    namespace, name, template = (str(said.get(field, "")).strip() for field in fields)
    for text, where in ((namespace, "namespace"), (name, "name"), (template, "template")):
        if text or where != "template":
            kubernetes.check_name(text, where)
    resource = str(said.get("resource", "") or "WorkflowTemplate").strip().lower()
    if resource not in KINDS:
        raise AppError(
            f'"{resource[:40]}" cannot be submitted', where="resource",
            hint="WorkflowTemplate, ClusterWorkflowTemplate",
        )  # fmt: skip
    return ArgoConfig(namespace, name, template, KINDS[resource])


def submission(config: ArgoConfig, errand: Errand, launch: str, *, dry_run: bool) -> dict[str, Any]:
    """The body of a submit: a name made from the order, and its resume point as parameters."""
    labels = f"{kubernetes.ROOT_LABEL}={config.name},{kubernetes.ORDER_LABEL}={errand.mark}"
    options: dict[str, Any] = {
        "name": kubernetes.name_of(config.name, errand),
        "labels": labels,
        "parameters": list(parameters(errand, launch)),
    }
    if dry_run:
        options["serverDryRun"] = True
    return {
        "namespace": config.namespace,
        "resourceKind": config.resource,
        "resourceName": config.template,
        "submitOptions": options,
    }


def resubmission(config: ArgoConfig, errand: Errand, launch: str) -> dict[str, Any]:
    """The body of a resubmit. Argo makes up the name: the order is known by a parameter."""
    mark = f"{ORDER_PARAMETER}={errand.mark}"
    return {
        "namespace": config.namespace,
        "name": errand.facts["old"],
        "memoized": False,
        "parameters": [*parameters(errand, launch), mark],
    }


def follows(found: Mapping[str, Any], errand: Errand) -> bool:
    """Whether a workflow was resubmitted for this order."""
    arguments = (found.get("spec") or {}).get("arguments") or {}
    said = {one.get("name"): one.get("value") for one in arguments.get("parameters") or ()}
    return bool(said.get(ORDER_PARAMETER) == errand.mark)


def parameters(errand: Errand, launch: str) -> Sequence[str]:
    """ "name=value" of each parameter: those of the environment in lower case, and the nodes.

    ckpt_resume_uri, ckpt_resume_step, ..., ckpt_exclude_nodes, lastgood_launch. The template has to
    declare those that it uses.
    """
    nodes = ",".join(kubernetes.node_names(errand.exclude_nodes))
    values = {name.lower(): value for name, value in errand.env.items()}
    values |= {"ckpt_exclude_nodes": nodes, "lastgood_launch": launch}
    return [f"{name}={value}" for name, value in values.items()]


def phase(found: Mapping[str, Any]) -> str:
    """Where a workflow stands: Running, Succeeded ...; "Pending" before it has begun."""
    return str((found.get("status") or {}).get("phase") or "Pending")
