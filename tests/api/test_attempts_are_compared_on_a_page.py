"""What became of each attempt, and where two of them part."""

import pytest

from tests import rollback_story
from tests.rollback_samples import falling, raised


@pytest.fixture
def restarted(incident):
    """The run "boom", started again from step 900: the same losses up to step 949."""
    rollback_story.start(1, resume_step=900)
    rollback_story.log(incident.run_id, 1, raised(falling(900, 1_100), 0.25, at=950))
    return incident.run_id


def test_the_table_says_what_of_each_attempt_still_counts(operator, restarted):
    text = operator.get("/runs/boom/attempts/").content.decode()
    assert "to step 899" in text
    assert "attempt 0 at step 900" in text
    assert "?compare=0" in text


def test_the_step_at_which_two_attempts_part_is_named(operator, restarted):
    text = operator.get("/runs/boom/attempts/?a=0&b=1").content.decode()
    assert "at 200 common steps, 900 to 1,099" in text
    assert "first different at step <strong>950</strong>" in text


def test_an_attempt_against_itself_is_the_same_bit_for_bit(operator, restarted):
    assert b"the same, bit for bit" in operator.get("/runs/boom/attempts/?a=1&b=1").content


def test_an_attempt_that_is_not_there_compares_with_nothing(operator, restarted):
    page = operator.get("/runs/boom/attempts/?a=7&b=1")
    assert (page.status_code, b"no loss of both attempts" in page.content) == (200, True)


def test_the_deck_draws_the_chosen_attempt_whole(operator, restarted):
    found = operator.get("/runs/boom/deck.json?compare=0").json()["charts"]["loss"]["figure"]
    (beside,) = [t for t in found["data"] if t["meta"]["role"] == "compare"]
    assert (beside["meta"]["attempt"], max(beside["x"])) == (0, 1_249)
