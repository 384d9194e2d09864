"""ingest.lines.parse"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from apps.core.records import Severity
from apps.ingest import entries
from apps.ingest.entries import Place
from apps.ingest.lines import parse as lines
from apps.ingest.lines.parse import parse

T0 = "2026-11-20T00:00:00Z"
T0_NS = 1_795_132_800_000_000_000
CORPUS = {
    "ts": T0, "host": "gpu-000", "rank": 3, "source": "nccl", "level": "INFO", "msg": "hello",
}  # fmt: skip


def body(*lines):
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def one(**line):
    batch = parse(body(line))
    (group,) = batch.groups
    return group, batch.counts


def test_the_usual_line():
    group, counts = one(**CORPUS)
    assert group.place == Place(node="gpu-000", rank=3, source="nccl")
    assert (group.time_ns, group.severity, group.text) == ([T0_NS], [Severity.INFO], ["hello"])
    assert not any(counts.values())


def test_lines_are_sorted_by_place_and_keep_their_order():
    said = [CORPUS | {"rank": rank, "msg": f"{number}"} for number, rank in enumerate([1, 2, 1, 1])]
    first, second = parse(body(*said)).groups
    assert (first.text, second.text) == (["0", "2", "3"], ["1"])


def test_exact_duplicates_are_kept():
    (group,) = parse(body(CORPUS, CORPUS)).groups
    assert group.text == ["hello", "hello"]


def test_rank_minus_one_is_no_rank():
    group, _ = one(**CORPUS | {"rank": -1})
    assert group.place.rank is None


@pytest.mark.parametrize("bad", [b"{", b"[1]", b'"x"', b"\xff\xfe", b'{"msg": "\\ud800"}'])
def test_a_bad_line_is_kept_as_text_and_refuses_no_other(bad):
    batch = parse(body(CORPUS) + bad + b"\n" + body(CORPUS))
    good, odd = batch.groups
    assert (good.text, batch.counts["bad_lines"]) == (["hello", "hello"], 1)
    assert odd.text == [bad.decode("utf-8", "replace")]


def test_fields_nobody_knows_stand_behind_the_text():
    group, counts = one(**CORPUS, loss=2.5, phase="warm up", tags=["a"], deep={"er": {"est": None}})
    assert group.text == ['hello loss=2.5 phase="warm up" tags=["a"] deep.er.est=null']
    assert counts["unknown_fields"] == 4


def test_a_value_that_cannot_be_read_stays_visible():
    group, counts = one(**CORPUS | {"rank": "seven"})
    assert (group.place.rank, group.text) == (None, ["hello rank=seven"])
    assert counts["odd_fields"] == 1


def test_of_two_texts_none_is_hidden():
    group, _ = one(msg="first", message="second")
    assert group.text == ["first message=second"]


def test_a_time_that_cannot_be_read_is_counted():
    group, counts = one(**CORPUS | {"ts": "yesterday"})
    assert (group.time_ns, counts["unreadable_times"]) == ([None], 1)


def test_a_level_nobody_knows_is_counted():
    group, counts = one(**CORPUS | {"level": "loud"})
    assert (group.severity, counts["unknown_levels"]) == ([None], 1)


def test_a_line_of_the_journal():
    group, _ = one(
        __REALTIME_TIMESTAMP=str(T0_NS // 1000), __CURSOR="s=1", _BOOT_ID="b", _TRANSPORT="kernel",
        _HOSTNAME="gpu-000", PRIORITY="3", SYSLOG_IDENTIFIER="kernel", SYSLOG_FACILITY="0",
        MESSAGE=[78, 86, 82, 77, 255],
    )  # fmt: skip
    assert group.place == Place(node="gpu-000", source="kernel", channel="kernel")
    assert (group.time_ns, group.severity) == ([T0_NS], [Severity.ERROR])
    assert group.text == ["NVRM\ufffd"]


def test_a_line_of_fluent_bit():
    group, counts = one(
        ts=T0, stream="stderr", logtag="F", log="NCCL error",
        kubernetes={"host": "gpu-a01", "pod_name": "w-3", "pod_id": "x", "container_name": "train",
                    "labels": {"RANK": "3", "team": "a"}},
    )  # fmt: skip
    assert group.place == Place(node="gpu-a01", rank=3, source="train", channel="stderr")
    assert (group.text, counts["labels_left_out"]) == (["NCCL error"], 3)


def test_too_many_lines_are_refused_whole(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINES", 2)
    with pytest.raises(BadPayload, match="more than 2 lines"):
        parse(body(CORPUS, CORPUS, CORPUS))


def test_too_many_places_are_refused_whole(monkeypatch):
    monkeypatch.setattr(entries, "MAX_PLACES", 2)
    with pytest.raises(BadPayload, match="more than 2 different places"):
        parse(body(*({"msg": "x", "source": f"s{n}"} for n in range(3))))


_ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_LINE = st.dictionaries(
    st.sampled_from([*lines.Line.__struct_fields__, "loss", "MESSAGE", "kubernetes"])
    | st.text(max_size=5),
    st.recursive(_ODD, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
    | st.dictionaries(st.text(max_size=3), _ODD, max_size=3),
    max_size=6,
)


@given(st.lists(_LINE.map(lambda line: json.dumps(line).encode()) | st.binary(), max_size=5))
def test_whatever_comes_every_line_that_is_not_blank_is_kept(raws):
    raws = [raw.replace(b"\n", b"") for raw in raws]
    batch = parse(b"\n".join(raws))
    assert batch.lines() == sum(bool(raw.strip()) for raw in raws)
    assert entries.unpack(entries.pack(batch)) == batch


@given(st.lists(st.integers(-1, 3), max_size=8))
def test_one_odd_line_changes_nothing_for_the_others(ranks):
    usual = [CORPUS | {"rank": rank} for rank in ranks]
    slow = parse(body(*usual, {"msg": "x", "node": "n", "source": "odd", "unknown": 1})).groups
    assert slow[:-1] == parse(body(*usual)).groups


@given(st.lists(st.integers(-1, 3), max_size=8), st.lists(st.integers(-1, 3), max_size=8))
def test_joined_bodies_read_as_one_body(first, second):
    both = [body(*(CORPUS | {"rank": rank} for rank in ranks)) for ranks in (first, second)]
    assert entries.join(*map(parse, both)).groups == parse(b"".join(both)).groups


def test_bodies_that_would_be_too_large_are_not_joined(monkeypatch):
    monkeypatch.setattr(entries, "MAX_JOINED", 1)
    assert entries.join(parse(body(CORPUS)), parse(body(CORPUS))) is None
