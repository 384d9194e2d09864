"""Which rank failed first, on which node, with what kind of fault.

Roles come before time: a rank that only complains about a peer is a victim whatever its clock
says. If everybody complains about a peer, the rank that does not is the suspect. "Not derivable"
is a right answer; a confident wrong one sends a person to a healthy machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from apps.core.records import Evidence, Suspect
from apps.logs.domain.triage.agents import Exit, first_to_end
from apps.logs.domain.triage.case import MAX_QUOTED_CHARS, AttemptFacts, RankFacts
from apps.logs.domain.triage.classify import Taxonomy
from apps.logs.domain.triage.faultclass import UNKNOWN, FaultClass
from apps.logs.domain.triage.named import blamed_peer
from apps.logs.domain.triage.ordering import in_order, undecided
from apps.logs.domain.triage.quiet import Quiet, quiet_ranks
from apps.logs.domain.triage.roots import Event, Root, root_of
from apps.logs.domain.triage.sharing import sharing
from apps.logs.domain.triage.verdict import Candidate, FirstFailurePolicy, Verdict

MAX_VICTIM_LINES = 4
MIN_CONFIRMING_RANKS = 3
SIGNAL_CLASSES = {-9: "exit_sigkill", -11: "exit_sigsegv", -7: "exit_sigbus", -6: "exit_sigabrt"}
ORDINARY_CODES = frozenset({0, 1, -15, -2, 130, 143})
ONLY_NAMED = 0.45
"""Of a rank whose own lines are not known (the number may be of a group), or of one that complains
of communication while nothing is known of any peer."""
TIMEOUT_CLASSES = frozenset({"gloo_timeout", "nccl_watchdog_timeout", "nccl_watchdog_exception"})
SCHEDULER_CLASSES = frozenset({"slurm_time_limit"})
WHY_ALONE = "No other rank shows a cause of its own: the others complain of a peer or say nothing."
WHY_NODE = "This line is of the machine or the scheduler, and no rank shows a cause before it."
WHY_QUIET = "All other ranks complain of a peer; it does not."
WHY_ENDED = "No rank says why, and its process ended 10 s or more before any other."


def first_failure(
    facts: AttemptFacts, taxonomy: Taxonomy, policy: FirstFailurePolicy | None = None
) -> Verdict | None:
    """The verdict on one attempt, or None if nothing failed or somebody stopped it.

    Pure, O(events).
    """
    return _Rule(facts, taxonomy, policy or FirstFailurePolicy()).verdict()


class _Rule:
    """One application: roots of all ranks, then candidates, then the quiet ranks."""

    def __init__(self, facts: AttemptFacts, taxonomy: Taxonomy, policy: FirstFailurePolicy) -> None:
        self.facts = facts
        self.taxonomy = taxonomy
        self.policy = policy
        self.roots = {
            rank.rank: root
            for rank in facts.ranks
            if not any(e.is_stop for e in rank.events)
            and (root := root_of(rank.events)) is not None
        }
        self.candidates = [c for c in map(self.candidate, facts.ranks) if c is not None]

    def verdict(self) -> Verdict | None:
        """Decide, most certain source first."""
        node_event, job_event = self.node_cause(), self.job_cause()
        if not self.has_failed(node_event is not None or job_event is not None):
            return None
        if node_event is not None and self.decides(node_event[1]):
            return self.of_node(*node_event)
        if len(self.candidates) == 1:
            return self.of_one(self.candidates[0])
        if self.candidates:
            return self.of_pair() or self.of_several()
        if job_event is not None and not self.roots:
            return self.of_job(job_event)
        timeouts = sum(root.fault.id in TIMEOUT_CLASSES for root in self.roots.values())
        quiet = quiet_ranks(self.facts, timeouts=timeouts)
        if quiet is not None:
            return self.of_quiet(quiet)
        return self.of_named() or self.not_derivable()

    def has_failed(self, unplaced: bool) -> bool:
        """Whether there is anything to explain. unplaced: a cause that names no rank."""
        if any(agent.failed for agent in self.facts.agents):
            return True
        stopped = any(agent.stopped_by is not None for agent in self.facts.agents)
        if stopped and not self.candidates:
            return False
        return bool(self.roots) or unplaced

    def candidate(self, rank: RankFacts) -> Candidate | None:
        """This rank as a possible first failure, or None if it is a victim or well."""
        root = self.roots.get(rank.rank)
        ended = self.facts.exit_of(rank)
        if root is not None and root.may_be_cause:
            evidence = (rank.says(root.event), *self.exit_evidence(rank, ended))
            return Candidate(rank, root.fault, rank.span_of(root.event)[0], evidence)
        fault = self.exit_fault(rank, root, ended)
        if ended is None or fault is None:
            return None
        evidence = (*self.exit_evidence(rank, ended), rank.last_line())
        return Candidate(rank, fault, rank.last_ns or ended.time_ns, evidence)

    def exit_fault(
        self, rank: RankFacts, root: Root | None, ended: Exit | None
    ) -> FaultClass | None:
        """Class of an exit code that speaks for itself, or None.

        A signal that followed the agent's own SIGTERM, and an abort after a communication error,
        are consequences.
        """
        if ended is None or ended.code in ORDINARY_CODES or self.facts.signalled(rank):
            return None
        code = 128 - ended.code if ended.code > 128 else ended.code
        if code == -6 and root is not None and root.fault.layer == "comm":
            return None
        if code not in SIGNAL_CLASSES and root is not None:
            return None
        return self.taxonomy.classes.get(SIGNAL_CLASSES.get(code, ""), UNKNOWN)

    def exit_evidence(self, rank: RankFacts, ended: Exit | None) -> tuple[Evidence, ...]:
        """The agent's line about a rank that ended by itself."""
        if ended is None or self.facts.signalled(rank):
            return ()
        return (rank.note(f"exit code {ended.code}: {ended.text}", time_ns=ended.own_ns),)

    def node_cause(self) -> tuple[str | None, Event] | None:
        """The most specific line of a node that can be a cause."""
        causes = [(n, e) for n, e in self.facts.node_events if e.role == "cause" and e.fault]
        return max(causes, key=lambda pair: _specificity(pair[1]), default=None)

    def job_cause(self) -> Event | None:
        """The first error of a console that names no rank but can be a cause."""
        causes = [e for e in self.facts.job_events if e.role in ("cause", "either")]
        ended = [e for e in causes if e.fault is not None and e.fault.id in SCHEDULER_CLASSES]
        reported = any(agent.failed for agent in self.facts.agents)
        certain = [e for e in causes if e.role == "cause" or reported]
        return next(iter(ended or certain), None)

    def decides(self, event: Event) -> bool:
        """Whether a node's line is the answer: nobody else failed, or the scheduler ended it."""
        if not self.candidates:
            return True
        return event.fault is not None and event.fault.id in SCHEDULER_CLASSES

    # -- answers ------------------------------------------------------------------------------

    def of_one(self, found: Candidate) -> Verdict:
        """Exactly one rank may have started it."""
        confidence = 0.9 if found.fault.role == "cause" else 0.8
        why = WHY_ALONE
        fault, unheard = found.fault, found.rank.last_ns is None and found.rank.events
        waits = fault.role == "either" and fault.layer in ("comm", "network")
        if unheard or (waits and len(self.facts.ranks) == 1):
            confidence = ONLY_NAMED
            why = "No line of another rank is known: the fault may be at the other end."
        return self.answer([(found, confidence)], why)

    def of_several(self) -> Verdict:
        """Several may have: a group, or the earliest; inside the tie the most specific."""
        group = self.group()
        if group is not None:
            return self.of_group(group)
        tied, late = in_order(self.candidates, self.facts.clocks, self.policy)
        clear = len(tied) == 1 or _clear(tied)
        rest = [(c, 0.3) for c in tied[1:]] + [(c, 0.2) for c in late]
        found = self.answer([(tied[0], 0.65 if clear else 0.4), *rest], _why_first(tied, late))
        return replace(found, tied=undecided(tied))

    def of_pair(self) -> Verdict | None:
        """Ranks that only together are a fault."""
        together = sharing(self.candidates)
        found = [c for c in self.candidates if c.rank.rank in together]
        if not found:
            return None
        why = "Each of these ranks says that it shares the device of the other: neither was first."
        return replace(self.answer([(c, 0.8) for c in found], why), together=together)

    def group(self) -> FaultClass | None:
        """The class that more than half of the ranks share, if there is one."""
        counts = Counter(c.fault.id for c in self.candidates)
        name, count = counts.most_common(1)[0]
        ranks = max(self.facts.world_size or 0, len(self.facts.ranks))
        if count < 2 or count <= self.policy.group_ratio * ranks:
            return None
        return next(c.fault for c in self.candidates if c.fault.id == name)

    def of_group(self, fault: FaultClass) -> Verdict:
        """Most ranks fail alike: the class is known, the first rank is not."""
        members = [c for c in self.candidates if c.fault.id == fault.id]
        evidence = tuple(e for c in members[:MAX_VICTIM_LINES] for e in c.evidence[:1])
        suspect = Suspect(rank=None, node=None, fault_class=fault.id, confidence=0.8)
        return Verdict(
            fault=fault,
            confidence=0.8,
            not_derivable=True,
            confirmed=self.confirmed(),
            suspects=(suspect,) if _is_configuration(fault) else (),
            evidence=evidence,
            group=tuple(sorted(c.rank.rank for c in members)),
            onset_ns=min(c.time_ns for c in members),
            onset_step=self.last_step(),
            why=f"{len(members)} ranks show the same cause, so that no order tells who was first.",
        )

    def of_quiet(self, quiet: Quiet) -> Verdict:
        """Everybody else complains."""
        fault = self.taxonomy.classes.get(quiet.kind, UNKNOWN)
        confidence = quiet.confidence / len(quiet.ranks)
        found = [
            Candidate(
                rank=rank,
                fault=fault,
                time_ns=rank.last_ns or self.onset(),
                evidence=tuple(e for e in quiet.evidence if e.rank == rank.rank),
            )
            for rank in quiet.ranks
        ]
        return self.answer([(c, confidence) for c in found], WHY_QUIET)

    def of_named(self) -> Verdict | None:
        """A machine that lines name; else, if no rank says why, the one that ended long before."""
        peer = blamed_peer(self.facts)
        if peer is not None:
            return self.of_node(peer.node, peer.event, peer.confidence)
        ended = None if self.roots else first_to_end(self.facts.agents)
        if ended is None or ended.rank is None:
            return None
        known = {rank.rank: rank for rank in self.facts.ranks}
        unheard = RankFacts(ended.rank, ended.host, ended.local_rank, ended.pid, (), None, None, "")
        rank = known.get(ended.rank, unheard)
        fault = self.taxonomy.classes.get(SIGNAL_CLASSES.get(ended.code, ""), UNKNOWN)
        evidence = (rank.note(f"exit code {ended.code}: {ended.text}", time_ns=ended.own_ns),)
        found = Candidate(rank, fault, ended.time_ns, evidence)
        return self.answer([(found, ONLY_NAMED)], WHY_ENDED)

    def of_node(self, node: str | None, event: Event, confidence: float = 0.7) -> Verdict:
        """A node (kernel, scheduler) says why."""
        fault = event.fault or UNKNOWN
        blamed = None if fault.blame == "scheduler" else node
        evidence = Evidence(event.text.strip()[:MAX_QUOTED_CHARS], event.own_ns, node=node)
        suspect = Suspect(None, blamed, fault.id, confidence, (evidence,))
        return Verdict(
            fault=fault,
            confidence=confidence,
            not_derivable=False,
            confirmed=self.confirmed(),
            suspects=(suspect,) if blamed is not None else (),
            evidence=(evidence, *self.victims(())),
            group=(),
            onset_ns=event.time_ns,
            onset_step=self.last_step(),
            why=WHY_NODE,
        )

    def of_job(self, event: Event) -> Verdict:
        """A line without a rank says why; the rank is known only if one process failed."""
        fault = event.fault or UNKNOWN
        evidence = (Evidence(event.text.strip()[:MAX_QUOTED_CHARS], event.own_ns),)
        failed = [e for a in self.facts.agents for e in a.exits if e.code not in (0, -15, -2)]
        ranks = [r for r in self.facts.ranks if len(failed) == 1 and r.rank == failed[0].rank]
        if len(ranks) == 1 and fault.blame != "scheduler":
            return self.of_one(Candidate(ranks[0], fault, event.time_ns, evidence))
        return Verdict(
            fault=fault,
            confidence=0.35,
            not_derivable=True,
            confirmed=self.confirmed(),
            suspects=(),
            evidence=(*evidence, *self.victims(())),
            group=(),
            onset_ns=event.time_ns,
            onset_step=self.last_step(),
            why="A line that names no rank tells the cause, and several processes ended.",
        )

    def not_derivable(self) -> Verdict:
        """Every rank that speaks is a victim and no silent one stands out."""
        common = Counter(root.fault.id for root in self.roots.values()).most_common(1)
        fault = self.taxonomy.classes[common[0][0]] if common else UNKNOWN
        return Verdict(
            fault=fault,
            confidence=0.0,
            not_derivable=True,
            confirmed=self.confirmed(),
            suspects=(),
            evidence=self.victims(()),
            group=tuple(sorted(self.roots)),
            onset_ns=self.onset(),
            onset_step=self.last_step(),
            why="Every rank that speaks complains of another one, and no silent one stands out.",
        )

    def answer(self, ranked: Sequence[tuple[Candidate, float]], why: str) -> Verdict:
        """A verdict whose first suspect is the first of `ranked`."""
        suspects = tuple(
            Suspect(c.rank.rank, c.rank.node, c.fault.id, round(confidence, 2), c.evidence)
            for c, confidence in ranked
        )
        first, confidence = ranked[0]
        blamed = {c.rank.rank for c, _ in ranked}
        return Verdict(
            fault=first.fault,
            confidence=round(confidence, 2),
            not_derivable=False,
            confirmed=self.confirmed(),
            suspects=suspects,
            evidence=(*first.evidence, *self.confirmations(first), *self.victims(blamed)),
            group=(),
            onset_ns=first.time_ns,
            onset_step=self.last_step(),
            why=why,
        )

    # -- parts of answers ---------------------------------------------------------------------

    def confirmations(self, found: Candidate) -> tuple[Evidence, ...]:
        """Lines of the suspect's node near the failure."""
        start, end = found.time_ns - self.policy.before_ns, found.time_ns + self.policy.after_ns
        return tuple(
            Evidence(event.text.strip()[:MAX_QUOTED_CHARS], event.own_ns, node=node)
            for node, event in self.facts.node_events
            if node == found.rank.node and event.fault and start <= event.time_ns <= end
        )[:MAX_VICTIM_LINES]

    def victims(self, blamed: Sequence[int] | set[int] | tuple[()]) -> tuple[Evidence, ...]:
        """What the others print, as context, and what torchrun names instead."""
        lines = [
            rank.says(self.roots[rank.rank].event, weight=0)
            for rank in self.facts.ranks
            if rank.rank in self.roots and rank.rank not in blamed
        ]
        named = [
            Evidence(
                f"torchrun on {agent.node} names rank {agent.named_root} as root cause",
                time_ns=max((e.own_ns for e in agent.exits), default=None),
                node=agent.node,
                rank=agent.named_root,
                weight=1 if agent.named_root in blamed else 0,
            )
            for agent in self.facts.agents
            if agent.named_root is not None
        ]
        return (*lines[:MAX_VICTIM_LINES], *named)

    def confirmed(self) -> bool:
        """Whether it is a failure without any doubt. Few ranks may just be retrying."""
        ranks = max(self.facts.world_size or 0, len(self.facts.ranks))
        many = len(self.roots) >= MIN_CONFIRMING_RANKS and 2 * len(self.roots) >= ranks
        return many or any(agent.failed for agent in self.facts.agents)

    def onset(self) -> int:
        """Time of the earliest sign."""
        times = [
            rank.span_of(self.roots[rank.rank].event)[0]
            for rank in self.facts.ranks
            if rank.rank in self.roots
        ]
        times += [e.time_ns for agent in self.facts.agents for e in agent.exits]
        return min(times, default=0)

    def last_step(self) -> int | None:
        """The highest step any rank reported."""
        return max((r.last_step for r in self.facts.ranks if r.last_step is not None), default=None)


def _specificity(event: Event) -> int:
    return event.fault.specificity if event.fault is not None else 0


def _clear(tied: Sequence[Candidate]) -> bool:
    return tied[0].fault.specificity > tied[1].fault.specificity


def _why_first(tied: Sequence[Candidate], late: Sequence[Candidate]) -> str:
    """Why the first of them was chosen, where several ranks show a cause of their own."""
    if len(tied) == 1:
        behind_s = (min(c.time_ns for c in late) - tied[0].time_ns) / 1e9
        return f"It was {behind_s:.1f} s before the next of {len(late) + 1} ranks with a cause."
    start = min(c.time_ns for c in tied)
    spread_s = (max(c.time_ns for c in tied) - start) / 1e9
    close = f"{len(tied)} ranks show a cause within {spread_s:.1f} s, too close to be ordered"
    return f"{close}: its class tells most." if _clear(tied) else f"{close}, and alike in kind."


def _is_configuration(fault: FaultClass) -> bool:
    return fault.blame in ("user_code", "user_config", "user_data")
