import os
import pickle
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.core.pickles import PickleRefused
from apps.logs.domain.triage.flight_dump import MAX_DUMP_BYTES, MAX_ENTRIES, read_dump
from tests.flight_samples import as_json, collective, dump, pair, pickled

GROUPS = {"0": [0, 1, 2, 3], "5": [1, 3]}
ROOT = dump(
    GROUPS,
    [
        collective("0", 8, state="completed"),
        collective("0", 9),
        pair("5", 3, "nccl:send 0->1"),
    ],
    last=9,
)


class Shell:
    """Calls a shell when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.mark.parametrize("body", [pickled(ROOT), as_json(ROOT)], ids=["pickle", "json"])
def test_what_a_rank_had_enqueued_is_read_from_either_form(body):
    read = read_dump(body, 1)
    assert [(one.group.label, one.seq, one.kind, one.peer) for one in read.pending] == [
        ("GROUP_0 (0)", 9, "all_reduce", None),
        ("GROUP_5 (5)", 3, "send 0->1", 3),
    ]
    assert (read.rank, read.enqueued, read.highest, read.skipped) == (1, {"0": 9}, 9, 0)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_hostile_pickle_is_refused_and_not_run(tmp_path, protocol):
    trap = tmp_path / "executed"
    hostile = pickle.dumps({"entries": [Shell(trap)]}, protocol=protocol)
    with pytest.raises(PickleRefused, match=r"names 'posix\.system'") as caught:
        read_dump(hostile, 0)
    assert caught.value.unsafe
    assert "do not unpickle this file" in caught.value.hint
    assert not trap.exists()


def test_not_even_a_harmless_name_is_allowed():
    with pytest.raises(PickleRefused, match="not part of a flight recorder dump"):
        read_dump(b"\x80\x02ccollections\nOrderedDict\n.", 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "neither a pickle nor a JSON object"),
        (b"\x80\x02}", "ends too early"),
        (b'{"entries": [', "the JSON cannot be read"),
        (b"[" * 5_000, "neither a pickle nor a JSON object"),
        (b'{"a":' * 5_000, "the JSON cannot be read"),
        (as_json({"entries": {}}), "entries: expected a list of at most"),
        (as_json({"entries": [None] * (MAX_ENTRIES + 1)}), "entries: expected a list of at most"),
        (as_json({"entries": [4]}), r"entries\[0\]: expected an object"),
        (as_json({"entries": [], "pg_status": {"1": {}}}), "pg_status.1.last_enqueued"),
        (as_json(ROOT | {"pg_config": {"0": {"ranks": "[-1]"}}}), "pg_config.0.ranks"),
        (as_json(ROOT | {"pg_config": {"0": {"ranks": "[[]]"}}}), "pg_config.0.ranks"),
        (as_json(ROOT | {"pg_config": []}), "pg_config: expected an object"),
        (as_json({"entries": [collective("0", True)]}), r"entries\[0\].collective_seq_id"),
        (as_json({"entries": [collective("0", 1, state=None)]}), r"entries\[0\].state"),
        (b"\x80\x02" + b"x" * MAX_DUMP_BYTES, "the limit is"),
    ],
)
def test_damage_is_told_with_its_place(body, message):
    with pytest.raises(BadPayload, match=message):
        read_dump(body, 0)


def test_a_rank_that_cannot_be_is_refused():
    with pytest.raises(BadPayload, match="there is no rank -1"):
        read_dump(as_json(ROOT), -1)


def test_operations_without_a_group_or_a_peer_are_counted():
    entries = [
        collective("unknown", 4),
        pair("0", 2, "nccl:coalesced"),
        pair("5", 2, "nccl:send 0->9"),
    ]
    read = read_dump(as_json(dump(GROUPS, entries)), 1)
    assert (read.pending, read.skipped) == ((), 3)


def test_names_are_made_fit_for_a_database_and_a_list_of_ranks_may_be_a_list():
    root = ROOT | {"pg_config": {"0": {"desc": "a\0\ud800b", "ranks": [3, 1]}}}
    group = read_dump(pickled(root | {"entries": [collective("0", 9)]}), 1).pending[0].group
    assert (group.title, group.ranks) == ("a??b", (3, 1))


_tree = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.binary(max_size=300))
@example(b"\x80\x02.")
def test_random_bytes_raise_only_the_readers_own_error(body):
    for begin in (b"", b"\x80\x02", b"{"):
        with suppress(BadPayload):
            read_dump(begin + body, 0)


@given(st.sampled_from([pickled(ROOT), as_json(ROOT)]), st.data())
def test_a_dump_with_wrong_bytes_raises_only_the_readers_own_error(body, data):
    position = data.draw(st.integers(0, len(body) - 1))
    cut = data.draw(st.integers(0, len(body)))
    changed = body[:position] + data.draw(st.binary(max_size=3)) + body[position + 1 :]
    for damaged in (changed, body[:cut]):
        with suppress(BadPayload):
            read_dump(damaged, 0)


@given(st.sampled_from(sorted(ROOT)), st.sampled_from(sorted(ROOT["entries"][1])), _tree)
def test_a_field_of_any_kind_raises_only_the_readers_own_error(top, field, value):
    entry = ROOT["entries"][1] | {field: value}
    for root in (ROOT | {top: value}, ROOT | {"entries": [entry]}):
        with suppress(BadPayload):
            read_dump(pickled(root), 0)
