"""What an order would do: everything that changes, in words and in its order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.core.words import many, number
from apps.rollbacks.domain.branching import BranchPlan

SHOWN_NODES = 8


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that would happen. what: a word for programs; text: a sentence for people."""

    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What an order would meet. proposed: another person has to agree first. replaces: the active
    order; webhook: who is told by one; incident: its label; each "" if there is none. launcher:
    what it would do, () without one. lost_gpu_hours: None if unknown.
    """

    run: str
    step: int
    newest_attempt: int
    proposed: bool
    branch: BranchPlan
    order_file: str
    exclude_nodes: Sequence[str] = ()
    skip_ranges: Sequence[tuple[int, int]] = ()
    lost_steps: int = 0
    lost_gpu_hours: float | None = None
    replaces: str = ""
    webhook: str = ""
    launcher: Sequence[str] = ()
    incident: str = ""
    forced: bool = False


def effects(facts: Facts) -> tuple[Effect, ...]:
    """Every effect, first what Lastgood writes, then what others do, last what stays as it is."""
    found = [
        *_written(facts),
        *_handed_out(facts),
        *_started(facts),
        *_lost(facts),
        Effect("unchanged", "No checkpoint is moved, changed or deleted, and no step is undone in "
               "the old directory."),
    ]  # fmt: skip
    return tuple(found)


def _written(facts: Facts) -> list[Effect]:
    found = []
    if facts.replaces:
        found.append(Effect("supersede", f"{facts.replaces} is superseded and given out no more."))
    if facts.proposed:
        text = "The order is proposed: no launcher sees it before another person has agreed to it."
        found.append(Effect("propose", text))
    forced = ", marked as forced" if facts.forced else ""
    text = f"An order to step {facts.step:,} is written with your reason and an audit row{forced}."
    found.append(Effect("order", text))
    if facts.incident:
        text = f"{facts.incident} gets a line in its history, and counts as mitigated once a start "
        found.append(Effect("incident", f"{text}has taken the order on."))
    return found


def _handed_out(facts: Facts) -> list[Effect]:
    """Who gets to know of the order."""
    when = "Once it is approved" if facts.proposed else "At once"
    told = f"{when}, {facts.webhook} is told the signed order."
    return [
        *([Effect("webhook", told)] if facts.webhook else []),
        Effect("resume_point", f"{when}, the resume point of {facts.run} answers with it, and "
               "launchers that wait for it are woken."),
        Effect("file", f"{when}, the signed order is written to {facts.order_file}, until an "
               "attempt has followed it."),
    ]  # fmt: skip


def _started(facts: Facts) -> list[Effect]:
    plan = facts.branch
    found = [Effect("launcher", f"{text[:1].upper()}{text[1:]}.") for text in facts.launcher]
    if not found:
        text = f"Attempt {facts.newest_attempt} is not stopped: your launcher stops and starts it."
        found.append(Effect("launcher", text))
    text = f"The new start loads {plan.load} and saves into {plan.directory}."
    found.append(Effect("branch", text))
    found += [
        Effect("branch", f"It begins with a link {name} to {target}.")
        for name, target in plan.links
    ]
    found += [
        Effect("branch", f"It begins with the pointer file {name}.") for name, _ in plan.files
    ]
    if facts.exclude_nodes:
        shown = ", ".join(facts.exclude_nodes[:SHOWN_NODES])
        more = len(facts.exclude_nodes) - SHOWN_NODES
        text = f"{shown}{f' and {more} more' if more > 0 else ''}"
        found.append(Effect("exclude", f"The new start does not use {text}."))
    for first, last in facts.skip_ranges:
        text = f"The data of steps {first:,} to {last:,} is to be skipped."
        found.append(Effect("skip", text))
    return found


def _lost(facts: Facts) -> list[Effect]:
    hours = facts.lost_gpu_hours
    cost = "" if hours is None else f": {number(hours)} GPU-hours"
    steps = many(facts.lost_steps, "step")
    return [Effect("lost_work", f"{steps} behind step {facts.step:,} are done again{cost}.")]
