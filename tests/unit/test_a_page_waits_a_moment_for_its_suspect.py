"""alerts.domain.lifecycle: the opening message of a page that cannot say yet who is to blame."""

import pytest

from apps.alerts.domain.lifecycle import Reader, decide
from apps.alerts.domain.message import Kind, Wanted
from apps.alerts.domain.timing import AlertPolicy
from apps.core.records import Suspect
from apps.incidents.domain.incident import Hypothesis
from tests.incident_samples import SECOND, at, incident

OPENED = at(1003)
UNKNOWN = Hypothesis("unknown", "no known cause", "no rank is apart", 0.0)
LR = Hypothesis("learning_rate", "learning rate changed at the same step", "the logged lr", 0.95)
RANK_5 = Suspect(5, "gpu-b02", "silent_data_corruption", 0.8)


def due(ranks_logged=True, **fields):
    return decide(incident(**fields), [], OPENED, reader=Reader(ranks_logged=ranks_logged)).wanted[
        0
    ]


def test_without_suspect_or_cause_it_waits_five_seconds_where_ranks_log_a_loss():
    wanted = due(hypotheses=(UNKNOWN,))
    assert wanted == Wanted(Kind.OPENING, 0, OPENED + 5 * SECOND)
    assert AlertPolicy().suspect_s == 5.0


@pytest.mark.parametrize(
    "known",
    [
        {"hypotheses": (UNKNOWN,), "ranks_logged": False},
        {"hypotheses": (UNKNOWN,), "suspects": (RANK_5,)},
        {"hypotheses": (LR, UNKNOWN)},
        {"hypotheses": (UNKNOWN,), "kind": "failure"},
    ],
    ids=["no rank logs a loss", "a suspect", "a cause", "a dead job"],
)
def test_what_cannot_get_better_is_due_at_once(known):
    assert due(**known).due_ns == OPENED


def test_a_dead_job_waits_for_its_logs_only():
    assert due(kind="failure", settled=False).due_ns == OPENED + 10 * SECOND
