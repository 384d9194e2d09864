"""Values that only a broken or hostile client sends: read or counted, in the time they deserve."""

import pytest

from apps.core.errors import BadPayload
from apps.ingest.wandb.console import place_of
from apps.ingest.wandb.graphql import probed_types
from apps.ingest.wandb.lines import history_rows, system_samples
from apps.ingest.wandb.parse import decode
from apps.ingest.wandb.sessions import copy_number
from apps.ingest.wandb.values import Numbers
from apps.metrics.domain.histograms import of_wandb
from tests.costs import cost_s
from tests.wandb_records import history

HUGE = "1" + "0" * 400


@pytest.mark.parametrize("part", ["a", "a ", "a:", "a : __type "])
def test_a_long_query_is_looked_through_once(part):
    def cost(times):
        return cost_s(lambda: probed_types(part * times))

    assert probed_types(part * 20_000) == {}
    assert cost(20_000) < 1_000 * cost(200) + 0.01


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (f'{{"_step":1,"_runtime":{HUGE},"loss":1.5}}', 1),
        (f'{{"_step":1,"_timestamp":{HUGE},"loss":1.5}}', 1),
        (f'{{"_step":{HUGE},"loss":1.5}}', 0),
        ('{"_step":true,"loss":1.5}', 0),
        ('{"_step":NaN,"loss":1.5}', 0),
    ],
)
def test_a_line_with_a_huge_number_stands_beside_the_others(line, kept):
    rows = history_rows([line, '{"_step":2,"loss":2.5}'], 5, Numbers())
    assert [row.values["loss"] for row in rows] == [1.5, 2.5][1 - kept :]


@pytest.mark.parametrize("name", ["_runtime", "_timestamp", "_step"])
def test_so_does_such_a_record_of_a_file(name):
    records = [
        history({"_step": 1, name: HUGE.encode(), "loss": 1.5}),
        history({"_step": 2, "x": 1}),
    ]
    assert decode(records, now_ns=5).rows[-1].step == 2


@pytest.mark.parametrize("packed", [{"min": 10**400, "size": 0.5}, {"min": 0.5, "size": 10**400}])
def test_a_packed_histogram_beyond_doubles_is_none(packed):
    assert of_wandb({"_type": "histogram", "values": [1, 2], "packedBins": packed}) is None


def test_counters_get_no_names_from_a_sender():
    numbers = Numbers()
    system_samples([f'{{"a":{{"_type":"{n}"}}}}' for n in range(9)], 5, numbers)
    assert numbers.skipped == {"object": 9}


def test_digits_of_another_kind_name_no_copy():
    assert copy_number("sync-²") is None


@pytest.mark.parametrize("text", ["²:0:", "1" * 30 + ":0:", "0:" + "1" * 30 + ":"])
def test_a_cursor_holds_numbers_that_can_be_answered(text):
    with pytest.raises(BadPayload, match="cursor"):
        place_of(text)
