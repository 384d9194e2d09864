"""Jobs and JobSets of Kubernetes: the one that runs, and the one that is to follow it. Pure."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.core.errors import AppError
from apps.rollbacks.domain.handover import Errand

ROOT_LABEL: Final = "lastgood.io/root"
ORDER_LABEL: Final = "lastgood.io/order"
_QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NODE = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_OF_CONTROLLERS = re.compile(
    r"(batch\.kubernetes\.io/)?(controller-uid|job-name|job-tracking)|"
    r"kubectl\.kubernetes\.io/last-applied-configuration"
)
"""Labels and annotations that a controller sets on what it makes."""
_ROOT_CHARS: Final = 30
"""Pods of a JobSet have its name, that of a replicated job and two numbers in 63 characters."""


@dataclass(frozen=True, slots=True)
class KubernetesConfig:
    """What starts a run. resource: job or jobset. name: of the first one; those that follow it are
    found by their label. cordon: take excluded nodes out of service for new pods of anybody."""

    namespace: str
    name: str
    resource: str = "job"
    cordon: bool = False


def config(said: Mapping[str, Any]) -> KubernetesConfig:
    """The configuration as a person entered it, checked. AppError names the field at fault."""
    namespace, name = (str(said.get(field, "")).strip() for field in ("namespace", "name"))
    resource = str(said.get("resource", "") or "job").strip().lower()
    for text, where in ((namespace, "namespace"), (name, "name")):
        check_name(text, where)
    if resource not in ("job", "jobset"):
        raise AppError(f'"{resource[:40]}" is not supported', where="resource", hint="job, jobset")
    return KubernetesConfig(namespace, name, resource, bool(said.get("cordon")))


def check_name(text: str, where: str) -> None:
    """AppError unless it is a DNS label, as names of Kubernetes are."""
    if not _NAME.fullmatch(text):
        raise AppError(
            "1 to 63 lower case letters, digits and hyphens", where=where, hint="such as gpt-7b"
        )


def node_names(nodes: Sequence[str]) -> tuple[str, ...]:
    """Our names of nodes and the same without their domain: either may be the one that Kubernetes
    uses. AppError for what cannot be the name of a node."""
    names: dict[str, None] = {}
    for node in nodes:
        if not _NODE.fullmatch(node):
            raise AppError(f"{node[:100]} cannot be the name of a node", hint="order without it")
        names |= {node: None, node.partition(".")[0]: None}
    return tuple(names)


def successor(old: Mapping[str, Any], root: str, errand: Errand, launch: str) -> dict[str, Any]:
    """The object that follows another one: the same, with a name of its own, the resume point in
    the environment of every container, and kept from the excluded nodes.

    launch: its name for `lastgood resume-point --acknowledge`. What the server and controllers
    wrote into the old one is left out. AppError for a Job that chooses its pods by itself.
    """
    made = {key: copy.deepcopy(old[key]) for key in ("apiVersion", "kind", "spec")}
    metadata, spec = old.get("metadata", {}), made["spec"]
    if spec.pop("manualSelector", False):
        raise AppError("a Job with manualSelector has no successor", hint="let it choose its pods")
    spec.pop("selector", None)
    labels = _kept(metadata.get("labels"))
    made["metadata"] = {
        "name": name_of(root, errand),
        "namespace": metadata.get("namespace"),
        "labels": {**labels, ROOT_LABEL: root, ORDER_LABEL: errand.mark},
        "annotations": _kept(metadata.get("annotations")),
    }
    # Kueue lets those begin that it admits.
    spec["suspend"] = _QUEUE_LABEL in labels
    if spec.get("network", {}).get("subdomain") == metadata.get("name"):
        del spec["network"]["subdomain"]
    values = {**errand.env, "LASTGOOD_LAUNCH": launch}
    for template in _pod_templates(made):
        _change_pods(template, values, node_names(errand.exclude_nodes))
    return made


def name_of(root: str, errand: Errand) -> str:
    """The name of what follows an order: the same at every try, so that it is made once."""
    return f"{root[:_ROOT_CHARS].rstrip('-')}-{errand.mark}"


def newest(items: Sequence[Mapping[str, Any]], but: str) -> str:
    """The name of the newest object, "" without any; `but` is not counted."""
    named = [(one["metadata"]["creationTimestamp"], one["metadata"]["name"]) for one in items]
    return max((pair for pair in named if pair[1] != but), default=("", ""))[1]


def pods_left(found: Mapping[str, Any]) -> int:
    """How many pods of a Job, or jobs of a JobSet, still run or are being ended."""
    status = found.get("status") or {}
    parts = [status, *(status.get("replicatedJobsStatus") or ())]
    return sum(int(part.get(name) or 0) for part in parts for name in ("active", "terminating"))


def _kept(found: Mapping[str, str] | None) -> dict[str, str]:
    return {k: v for k, v in (found or {}).items() if not _OF_CONTROLLERS.fullmatch(k)}


def _pod_templates(made: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    spec = made["spec"]
    if made["kind"] == "Job":
        yield spec["template"]
    for job in spec.get("replicatedJobs", ()):
        yield job["template"]["spec"]["template"]


def _change_pods(template: dict[str, Any], env: Mapping[str, str], without: Sequence[str]) -> None:
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = _kept(metadata.get("labels"))
    metadata.pop("creationTimestamp", None)
    pods = template["spec"]
    for container in pods["containers"]:
        others = [one for one in container.get("env") or () if one["name"] not in env]
        added = [{"name": name, "value": value} for name, value in env.items()]
        container["env"] = [*others, *added]
    if without:
        _keep_off(pods, without)


def _keep_off(pods: dict[str, Any], nodes: Sequence[str]) -> None:
    """Terms of a node selector are alternatives: each of them has to exclude the nodes."""
    affinity = pods.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms = required.setdefault("nodeSelectorTerms", []) or [{}]
    for term in terms:
        expression = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": list(nodes)}
        term["matchExpressions"] = [*(term.get("matchExpressions") or ()), expression]
    required["nodeSelectorTerms"] = terms
