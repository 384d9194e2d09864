"""workers.benches.triage on a folder of flight recorder dumps"""

import pytest

from apps.logs.domain.triage.classify import taxonomy
from tests.flight_samples import as_json, collective, dump, pickled
from workers.benches.triage import Answer, answer_of, score

GROUPS = {"a": [0, 1], "b": [2, 3]}
ENTRIES = {0: [collective("a", 1)], 1: [], 2: [collective("b", 1)], 3: []}


@pytest.mark.parametrize(
    ("name", "form"), [("fr/_dump_{}", pickled), ("fr_json/rank_{}.json", as_json)]
)
def test_ranks_that_stopped_together_are_a_list(tmp_path, name, form):
    for rank, entries in ENTRIES.items():
        path = tmp_path / name.format(rank)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(form(dump(GROUPS, entries)))
    answer, lines = answer_of(tmp_path, taxonomy())
    assert (answer, lines) == (Answer((1, 3), None, None, "high"), 0)


def test_what_the_dumps_can_show_is_right_as_well():
    answer = Answer((1, 3), None, None, "high")
    truth = {"first_failing_rank": [1, 2, 3], "answerable": "ranks only", "accept": [3, 1]}
    assert score([(answer, truth)])["ranks_right"] == 1
    assert score([(answer, truth | {"accept": [1]})])["ranks_wrong_and_sure"] == 1
