"""What somebody sees who has just begun, and knows runs by the names they have in W&B."""

import pytest
from django.utils import timezone

from apps.runs import store as runs
from apps.runs.records import Progress

KEY, NAME = "cm2k5u3v", "llm 7b, second try"


def run_named(name: str) -> None:
    """A run whose key `wandb` made up, before its first row."""
    run_id = runs.ensure_run(KEY)
    assert run_id is not None
    runs.open_attempt(run_id, 0, 1_795_981_200_000_000_000)
    runs.note_progress(run_id, 0, Progress(config={"wandb/name": name}), timezone.now())


def test_an_empty_board_shows_the_two_variables_of_wandb(operator, valkey):
    page = operator.get("/").content.decode()
    assert "export WANDB_BASE_URL=http" in page
    assert "token cluster --scope ingest --wandb" in page


@pytest.mark.parametrize("path", ["/", f"/runs/{KEY}/"])
def test_a_run_is_shown_with_the_name_it_has_in_wandb(operator, valkey, path):
    run_named(NAME)
    assert operator.get(path).content.decode().split('id="facts"')[0].count(NAME) == 1


def test_a_name_that_is_the_key_is_not_said_twice(operator, valkey):
    run_named(KEY)
    assert '<div class="sub">' + KEY not in operator.get("/").content.decode()


def test_an_attempt_without_a_row_has_no_steps(operator, valkey):
    run_named(NAME)
    assert "none yet" in operator.get(f"/runs/{KEY}/").content.decode()
