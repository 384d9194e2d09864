"""runs.domain.contact_report: what is said of a silent run, of its end, and of silent ranks."""

import pytest

from apps.core.records import FindingSeverity
from apps.runs.domain.contact import Look, Rhythm, Silence
from apps.runs.domain.contact_report import Silent, asked_for, heard_again, no_contact, ranks_silent

T0 = 1_796_000_000_000_000_000
S = 1_000_000_000


def silent(**fields):
    values = {
        "attempt": 2,
        "look": Look(T0, 9, 1_200, T0),
        "rhythm": Rhythm(pauses=(240.0,)),
        "silence": Silence(360.0, 20.0),
        "now_ns": T0 + 361 * S,
        **fields,
    }
    return Silent(**values)


def test_it_says_since_when_and_what_is_usual():
    found = no_contact(silent())
    assert found.title == "no contact since 2026-11-30 00:53:20 UTC"
    assert found.key == f"no_contact:a2:t{T0}"
    assert found.evidence[0].text == (
        "nothing was received since: its usual gap is 20 s, its longest pause was 4 min;"
        " longer than 6 min is no contact"
    )
    assert (found.evidence[1].text, found.evidence[1].step) == (
        "the newest step that was received",
        1_200,
    )


def test_it_never_says_that_the_run_failed():
    found = no_contact(silent())
    assert found.severity is FindingSeverity.PAGE and found.onset_step is None
    assert found.facts["hint"].startswith("nothing says that the job failed")


def test_when_nobody_is_heard_of_the_server_comes_first():
    assert no_contact(silent(alone=False)).facts["hint"] == (
        "no other run is heard of either: see first whether the server can be reached"
    )


def test_a_silence_that_was_asked_for_is_information():
    found = asked_for(no_contact(silent()), "this attempt was told to stop")
    assert found.severity is FindingSeverity.INFO
    assert found.facts["planned"] == found.evidence[-1].text == "this attempt was told to stop"


@pytest.mark.parametrize(
    ("heard_s", "how", "words"),
    [
        (720, {"ended": False, "attempt": 2}, "heard of again after 12 min"),
        (720, {"ended": False, "attempt": 3}, "attempt 3 began after 12 min without contact"),
        (0, {"ended": True, "attempt": 2}, "it is known by now how the attempt ended"),
    ],
)
def test_its_end_says_how_long_it_was(heard_s, how, words):
    over = heard_again(no_contact(silent()), T0 + heard_s * S, **how)
    assert over.evidence[-1].text == words
    assert over.closed_time_ns == T0 + heard_s * S


@pytest.mark.parametrize(
    ("names", "of", "words"),
    [
        ([], 8, ""),
        (["rank 4"], 8, "1 of 8 ranks silent: rank 4"),
        ([f"rank {n}" for n in range(6)], 64, "6 of 64 ranks silent: rank 0, rank 1, rank 2, "
         "rank 3 and 2 more"),
        ([f"rank {n}" for n in range(1, 8)], 8, ""),
    ],
    ids=["none", "one", "some", "only one rank prints"],
)  # fmt: skip
def test_silent_ranks_of_a_run_that_talks_are_named(names, of, words):
    assert ranks_silent(names, of) == words
