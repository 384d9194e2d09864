"""rollbacks.domain.postmortem. New golden file: write what `markdown` gives, and read it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.plain import plain as as_plain
from apps.core.records import Candidate, Evidence, Suspect
from apps.incidents.domain.card import Given, card_of
from apps.incidents.domain.incident import EarliestSignal, EventInfo, Hypothesis, IncidentState
from apps.incidents.domain.movers import Mover, Movers
from apps.incidents.domain.similar import similar
from apps.incidents.domain.timeline import compose
from apps.rollbacks.domain.postmortem import Plot, document, markdown, plain, times
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.records import Account, OrderInfo
from apps.runs.records import RunInfo
from tests.card_samples import HEALTHY
from tests.incident_samples import at, ended, explosion, incident, rank_outlier

GOLDEN = Path(__file__).parents[1] / "samples" / "incidents" / "post-mortem.md"
NOW = at(9000)
RUN = RunInfo(
    3, "llm-300b", "pretrain", "running", 1024, {}, datetime(2025, 6, 15, tzinfo=UTC), None, 5000
)


def event(step, key, text, actor="ada"):
    return EventInfo(at(step), key, text, actor)


EVENTS = (
    event(1003, "opened", "opened: Loss 0.97 -> 3.65 since step 1,001", "lastgood"),
    event(1003, "finding:x", "spikes: explosion at 1001", "lastgood"),
    event(1183, "acknowledged:1", "acknowledged: looking"),
    event(1403, "order:3:requested", "RB-3 to step 900 ordered: LR spike | see chat"),
    event(1463, "mitigated:2", "mitigated: RB-3: taken on by slurm-77", "lastgood"),
    event(2003, "reopened:3", "reopened: it came back at step 1,003 in attempt 1", "lastgood"),
    event(2063, "mitigated:4", "mitigated: RB-4: taken on by slurm-78", "lastgood"),
    event(4603, "resolved:5", "resolved (recovered): back on the trend", "lastgood"),
)
ORDER = OrderInfo(
    id=3, run_id=3, idempotency_key="k", incident_id=42, kind="explosion", onset_step=1001,
    from_attempt=0, attempt=0, step=900, path="/ckpt/900", inventory_digest="", branch_dir="",
    exclude_nodes=(), skip_ranges=(), forced=False, reason="LR spike", actor="ada",
    requested_at_ns=at(1403), state=OrderState.RECOVERED, changed_at_ns=at(4603), launch="slurm-77",
    resumed_attempt=1, resumed_step=901, verdict=None,
)  # fmt: skip
MOVERS = Movers(
    items=(
        Mover("grad_norm/layers.4", 986, at(986), "layer 4, grad norm", 15, 15.0, before=0.4),
        Mover("train/lr|x", 1010, at(1010), "", -9, -9.0, before=1.0),
    ),
    moved=3,
    anchor_step=1001,
    anchor_ns=at(1001),
    by_loss=True,
    looked_at=512,
)  # fmt: skip


def told():
    outlier = rank_outlier(5, 1010)
    found = incident(
        state=IncidentState.RESOLVED,
        resolution="recovered",
        owner="ada",
        acknowledged_at_ns=at(1183),
        acknowledged_by="ada",
        resolved_at_ns=at(4603),
        reopened=1,
        suspects=(Suspect(5, "gpu-b02", "silent_corruption", 0.8, outlier.evidence),),
        hypotheses=(
            Hypothesis(
                "hardware",
                "one rank stands apart",
                "loss of each rank against the others",
                0.8,
                (Evidence("rank 5 alone moved"), Evidence("no Xid", weight=-1)),
            ),
        ),
        earliest_signal=EarliestSignal(
            "grad_norm/layers.4", 986, at(986), "layer 4", lead_steps=15, words="layer 4, grad norm"
        ),
    )
    findings = (explosion(**ended(400)), outlier)
    older = incident(id=17, onset_time_ns=at(5), suspects=found.suspects, title="Loss | <b>up</b>")
    candidate = Candidate(
        900, 0, "/ckpt/900", True, "committed", (Evidence("101 steps before the onset"),), 350,
        98.7, at(900), 10,
    )  # fmt: skip
    return Account(
        incident=found,
        run=RUN,
        findings=findings,
        timeline=compose(found, findings, (), NOW),
        candidates=(candidate,),
        missing=("No node events from gpu-b02 in this window.",),
        orders=(ORDER,),
        events=EVENTS,
        notes=(event(1300, "note:user:ada:k", "Looks like *hardware*.\n\n# drain b02", "ada"),),
        similar=similar(found, [older]),
        movers=MOVERS,
        card=card_of(Given(found, findings, HEALTHY, (candidate,))),
    )


def test_the_markdown_is_the_agreed_one():
    plots = (Plot("loss.png", "train/loss, median 1 before, 3.6 from step 1,001 on", b"png"),)
    assert markdown(told(), NOW, plots) == GOLDEN.read_text()


def test_every_time_has_a_definition_and_counts_the_first():
    spent = {t.name: t.seconds for t in times(told().incident, EVENTS)}
    assert spent == {
        "to detect": 2.0,
        "to acknowledge": 180.0,
        "to mitigate": 460.0,
        "to recover": 3600.0,
        "in all": 3602.0,
    }
    assert all(t.definition for t in times(told().incident, EVENTS))


def test_what_has_not_come_yet_has_no_time():
    spent = {t.name: t.spoken for t in times(incident(), EVENTS[:1])}
    assert (spent["to acknowledge"], spent["to recover"]) == ("not yet", "not yet")
    spent = {t.name: t.spoken for t in times(told().incident, EVENTS[-1:])}
    assert (spent["to acknowledge"], spent["to recover"]) == ("never", "1 h 00 min")


def test_the_json_holds_the_same_story():
    said = json.loads(json.dumps(as_plain(document(told(), NOW)), allow_nan=False, default=str))
    assert [d["key"] for d in said["decisions"]] == [e.key for e in EVENTS if e.what != "finding"]
    assert said["times"][1]["seconds"] == 180.0
    assert said["notes"][0]["text"].startswith("Looks like")
    assert said["similar"] == [
        {"incident": 17, "title": "Loss | <b>up</b>", "why": list(told().similar[0].why)}
    ]


@given(st.text(max_size=60))
def test_no_text_of_others_becomes_markup(text):
    line = plain(text)
    assert "\n" not in line
    bare = line.replace("\\\\", "")
    assert not any(c in bare.replace(f"\\{c}", "") for c in "`*<[]|")


@pytest.mark.parametrize("text", ["# a", "- a", "+ a", "> a"])
def test_a_line_of_others_starts_no_heading_and_no_list(text):
    assert plain(text).startswith("\\")


def test_a_clock_of_the_job_that_is_ahead_makes_no_time_negative():
    spent = times(incident(onset_time_ns=at(5000), opened_at_ns=at(4000)), ())
    assert spent[0].seconds == 0.0
