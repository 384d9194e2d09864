"""The hand-over of an order as its page shows it, and the fields of a launcher's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.rollbacks.domain.handover import Effect, HandoverState, Kind, Step
from apps.rollbacks.launchers import bindings_store, handing, kinds, store
from apps.rollbacks.launchers.bindings_store import BindingInfo
from apps.rollbacks.launchers.store import CallInfo, HandoverInfo
from apps.rollbacks.records import OrderInfo
from apps.runs.records import RunInfo


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form. kind: text, secret, lines or tick."""

    name: str
    label: str
    help: str = ""
    kind: str = "text"
    hint: str = ""
    required: bool = False


FIELDS: Mapping[Kind, Sequence[Field]] = {
    Kind.SLURM: (
        Field("job", "Name of the job", "As in sbatch --job-name; each run needs one of its own.",
              hint="gpt-7b", required=True),
        Field("script", "Batch script to submit",
              "Empty: the job is requeued, and its script asks for the resume point. A script: the "
              "job is cancelled and a new one submitted. SLURM_SCRIPTS names the folders for it.",
              hint="/shared/jobs/gpt-7b.sbatch"),
        Field("workdir", "Folder it starts in", "Empty: the folder of the script."),
        Field("user", "User whose job it is",
              "Empty: the user that Lastgood runs as. Others only for requeuing, as an operator."),
        Field("drain", "Also drain the excluded nodes: no other job gets them", kind="tick"),
    ),
    Kind.KUBERNETES: (
        Field("namespace", "Namespace", hint="training", required=True),
        Field("name", "Name of the first Job or JobSet",
              "Those that follow it are found by their label lastgood.io/root.", hint="gpt-7b",
              required=True),
        Field("resource", "What it is", "job or jobset", hint="job"),
        Field("cordon", "Also cordon the excluded nodes: no new pod gets them", kind="tick"),
    ),
    Kind.ARGO: (
        Field("namespace", "Namespace", hint="training", required=True),
        Field("name", "Name of the workflow that runs now",
              "Those that follow it are found by their label lastgood.io/root.", hint="gpt-7b-x7k2",
              required=True),
        Field("template", "Template to submit",
              "It gets the resume point as parameters. Empty: the workflow is resubmitted.",
              hint="train"),
        Field("resource", "What it is", "WorkflowTemplate or ClusterWorkflowTemplate",
              hint="WorkflowTemplate"),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scene:
    """binding: who would start the run. effects: what that would do, while nothing has begun.
    problem: why it cannot be planned."""

    binding: BindingInfo | None
    kind_words: str
    effects: Sequence[Effect]
    handover: HandoverInfo | None
    steps: Sequence[Step]
    calls: Sequence[CallInfo]
    problem: str = ""

    @property
    def at_work(self) -> bool:
        """Whether a worker goes on with it."""
        return self.handover is not None and self.handover.state is HandoverState.WORKING

    @property
    def stuck(self) -> bool:
        """Whether a person has to decide."""
        found = self.handover
        return bool(found and found.state in (HandoverState.FAILED, HandoverState.UNSURE))


def scene(run: RunInfo, order: OrderInfo) -> Scene:
    """What there is to see of the hand-over of an order."""
    binding = handing.binding_of(run)
    found = store.get(run.id, order.id)
    effects, problem = handing.try_effects(run, order) if found is None else ((), "")
    kind = found.kind if found else binding.kind if binding else None
    return Scene(
        binding=binding,
        kind_words=kinds.WORDS[kind] if kind else "",
        effects=effects,
        handover=found,
        steps=store.steps(run.id, order.id) if found else [],
        calls=store.calls(run.id, order.id) if found else [],
        problem=problem,
    )


def bindings(run: RunInfo) -> tuple[BindingInfo | None, BindingInfo | None]:
    """The run's own binding and its project's, switched off or not."""
    return bindings_store.get(run.project, run.key), bindings_store.get(run.project, "")


def config_of(form: Mapping[str, str], kind: Kind) -> dict[str, Any]:
    """The entered fields of a kind."""
    fields = FIELDS[kind]
    ticks = {one.name: form.get(one.name) == "yes" for one in fields if one.kind == "tick"}
    return {one.name: form.get(one.name, "") for one in fields if one.kind != "tick"} | ticks


def rows(kind: Kind, values: Mapping[str, Any]) -> list[tuple[Field, Any]]:
    """The fields of a kind with their values."""
    return [(one, values.get(one.name, "")) for one in FIELDS[kind]]
