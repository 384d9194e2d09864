"""Who may be at fault: the suspects of all findings, merged and ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from apps.core.records import Evidence, Finding, Suspect
from apps.incidents.domain.correlate import loudness

# The line taxonomy has no class for it, because nothing prints a line when it happens.
SILENT_CORRUPTION = "silent_data_corruption"

_LONE_RANK_CONFIDENCE = 0.7
_MANY_RANKS_CONFIDENCE = 0.2
_CERTAIN = 0.99


def merge_suspects(
    findings: Sequence[Finding], nodes: Mapping[int, str] | None = None
) -> tuple[Suspect, ...]:
    """The suspects of an incident, most likely first.

    nodes: rank -> node of the attempt, to name the node of a suspect that has only a rank.
    One entry per (rank, node); the confidences of different detectors count as independent
    (1 - product of the doubts), of one detector the highest counts. Evidence for and against
    is kept, each text once. A rank_outlier finding accuses its rank: strongly when it is the only
    such rank, hardly when several ranks are apart, whatever the finding itself says.
    """
    places = nodes or {}
    said: dict[tuple[int | None, str | None], list[tuple[str, Suspect]]] = {}
    for finding in findings:
        for suspect in _named(finding, findings):
            placed = _place(suspect, places)
            said.setdefault((placed.rank, placed.node), []).append((finding.detector, placed))
    merged = [_merge(statements) for statements in said.values()]
    return tuple(sorted(merged, key=_order))


def apart_ranks(findings: Sequence[Finding]) -> set[int]:
    """The ranks that stand apart from their peers; reports that were taken back count nothing."""
    apart = [f for f in findings if f.kind == "rank_outlier" and loudness(f.severity) > 0]
    return {f.rank for f in apart if f.rank is not None}


def _named(finding: Finding, findings: Sequence[Finding]) -> tuple[Suspect, ...]:
    if finding.kind != "rank_outlier":
        return finding.suspects
    if finding.rank is None or loudness(finding.severity) == 0:
        return ()
    named = finding.suspects or (_accused(finding),)
    if len(apart_ranks(findings)) == 1:
        return named
    return tuple(
        replace(s, fault_class="unknown", confidence=min(s.confidence, _MANY_RANKS_CONFIDENCE))
        for s in named
    )


def _accused(finding: Finding) -> Suspect:
    return Suspect(
        rank=finding.rank,
        node=finding.node,
        fault_class=SILENT_CORRUPTION,
        confidence=_LONE_RANK_CONFIDENCE,
        evidence=finding.evidence or (_own_words(finding),),
    )


def _own_words(finding: Finding) -> Evidence:
    return Evidence(
        text=finding.title,
        time_ns=finding.onset_time_ns,
        step=finding.onset_step,
        rank=finding.rank,
        node=finding.node,
    )


def _place(suspect: Suspect, nodes: Mapping[int, str]) -> Suspect:
    if suspect.node is not None or suspect.rank is None:
        return suspect
    return replace(suspect, node=nodes.get(suspect.rank))


def _merge(statements: Sequence[tuple[str, Suspect]]) -> Suspect:
    best_of: dict[str, float] = {}
    for detector, suspect in statements:
        best_of[detector] = max(best_of.get(detector, 0.0), suspect.confidence)
    doubt = 1.0
    for confidence in best_of.values():
        doubt *= 1.0 - confidence
    leading = max((s for _, s in statements), key=lambda s: s.confidence)
    evidence = {e.text: e for _, s in statements for e in s.evidence}
    return replace(
        leading,
        confidence=round(min(1.0 - doubt, max(_CERTAIN, leading.confidence)), 3),
        evidence=tuple(evidence.values()),
    )


def _order(suspect: Suspect) -> tuple[float, int, str]:
    rank = suspect.rank if suspect.rank is not None else 2**31
    return (-suspect.confidence, rank, suspect.node or "")
