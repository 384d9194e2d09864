"""How a failure went, for a person who has to act on it: the sentence, the lanes, the ten lines.

Made of the same facts as the verdict, and kept with it: a page never reads the lines again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from apps.core.rankspans import spans
from apps.core.words import many
from apps.logs.domain.triage.case import AttemptFacts, RankFacts
from apps.logs.domain.triage.keylines import KeyLine, key_lines
from apps.logs.domain.triage.lanes import Lanes, blamed_ranks, lanes_of
from apps.logs.domain.triage.ordering import said_of_clocks
from apps.logs.domain.triage.report import title_of
from apps.logs.domain.triage.roots import Root, root_of
from apps.logs.domain.triage.verdict import Verdict

MAX_INNOCENT = 6
_SURE = 0.75
_NS = 1e9


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a failure.

    first: what happened first, one sentence. order: what is known of the clocks behind the order.
    innocent: who is named or loud and not to blame, with why. decide: what would settle what is
    open; () if nothing is.
    """

    first: str
    lanes: Lanes
    lines: tuple[KeyLine, ...]
    order: tuple[str, ...]
    innocent: tuple[str, ...]
    decide: tuple[str, ...]


def course_of(facts: AttemptFacts, verdict: Verdict) -> Course:
    """The course of the failure that was judged, bounded whatever its size. O(events)."""
    blamed = blamed_ranks(verdict)
    roots = {r.rank: root for r in facts.ranks if (root := root_of(r.events)) is not None}
    others = {rank: root for rank, root in roots.items() if rank not in blamed}
    return Course(
        first=_first(facts, verdict, others),
        lanes=lanes_of(facts, verdict),
        lines=key_lines(facts, verdict),
        order=_order(facts, verdict),
        innocent=_innocent(facts, blamed, others),
        decide=tuple(_decide(facts, verdict)),
    )


def _first(facts: AttemptFacts, verdict: Verdict, others: dict[int, Root]) -> str:
    """ "Rank 5 on gpu-b02 hung: ...; 60.0 s later 7 other ranks: gloo timeout." """
    title = title_of(verdict).rstrip(".")
    if not others or verdict.not_derivable:
        return f"{title}."
    known = {rank.rank: rank for rank in facts.ranks}
    times = [known[rank].span_of(root.event)[1] for rank, root in others.items()]
    titles = Counter(root.fault.title for root in others.values())
    common = titles.most_common(1)[0][0]
    behind_s = (min(times) - verdict.onset_ns) / _NS
    when = f"{behind_s:.1f} s later" if behind_s >= 0.05 else "then"
    kinds = "" if len(titles) == 1 else ", mostly"
    return f"{title}; {when} {many(len(others), 'other rank')} followed{kinds} ({common})."


def _order(facts: AttemptFacts, verdict: Verdict) -> tuple[str, ...]:
    nodes = {rank.node for rank in facts.ranks if rank.node}
    said = [*said_of_clocks(facts.clocks, nodes)]
    if verdict.tied:
        said.append(
            f"The order of ranks {spans(verdict.tied)} is not decided: they are closer to each"
            " other than their clocks and the flushing of logs allow to tell."
        )
    return tuple(said)


def _innocent(
    facts: AttemptFacts, blamed: frozenset[int], others: dict[int, Root]
) -> tuple[str, ...]:
    """Whom torchrun names instead, and who is only loud."""
    known = {rank.rank: rank for rank in facts.ranks}
    named = [
        f"torchrun{f' on {agent.node}' if agent.node else ''} names rank {agent.named_root}: "
        + _victim(known.get(agent.named_root), others)
        for agent in facts.agents
        if agent.named_root is not None and agent.named_root not in blamed and blamed
    ]
    counts = Counter(root.fault.id for root in others.values() if root.fault.role == "symptom")
    loud = []
    for fault, count in counts.most_common(2):
        alike = [rank for rank, root in others.items() if root.fault.id == fault]
        title = others[alike[0]].fault.title
        loud.append(f"{many(count, 'rank')} ({spans(alike)}): {title}, a complaint about a peer.")
    more = len(named) - MAX_INNOCENT
    rest = [f"and {many(more, 'more agent')}"] if more > 0 else []
    return (*named[:MAX_INNOCENT], *rest, *loud)


def _victim(rank: RankFacts | None, others: dict[int, Root]) -> str:
    root = None if rank is None else others.get(rank.rank)
    if root is None:
        return "a victim, it shows no cause of its own."
    if root.may_be_cause:
        return f"its {root.fault.title} came later."
    return f"a victim, it only complains of a peer ({root.fault.title})."


def _decide(facts: AttemptFacts, verdict: Verdict) -> Iterator[str]:
    """What would settle it, the cheapest first."""
    if verdict.fault.id == "exit_sigkill":
        node = verdict.suspects[0].node if verdict.suspects else None
        yield f"The kernel log of {node or 'its host'}: whether the system killed it for memory."
    if verdict.confidence >= _SURE and not verdict.not_derivable:
        return
    size = max(facts.world_size or 0, len(facts.ranks))
    silent = size - sum(1 for rank in facts.ranks if rank.last_ns is not None)
    if silent:
        yield f"The log files of {many(silent, 'rank')} of {size:,}: no line of them came."
    if not any(agent.exits or agent.signalled for agent in facts.agents):
        yield "What the launcher printed on each host: exit codes, and whom it had to stop."
    if verdict.fault.layer in ("comm", "network", "process"):
        yield (
            "Flight recorder dumps of all ranks (TORCH_NCCL_TRACE_BUFFER_SIZE=2000): they show who"
            " did not come to a collective."
        )
    if not facts.node_events:
        yield "Events of the hosts around that time: Xids, killed processes, links that went down."
    if verdict.tied:
        yield "Synchronised clocks, and a line of each step on every rank, with milliseconds."
