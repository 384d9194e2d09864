"""The doors of node events that take JSON: any value in any place."""

import json
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import BadPayload
from tests.node_samples import FOLDER, SAMPLES, heard

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just([]),
    st.just({}), st.just({"set": True, "infinite": True, "number": -1}), st.just([None]),
    st.sampled_from(["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1e400", "\0", "Unknown"]),
)  # fmt: skip
JSON = sorted(name for name in SAMPLES if name.endswith((".json", ".jsonl")))


def places(value, at=()):
    """The path of each value inside of another."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        yield (*at, key)
        if isinstance(one, (dict, list)):
            yield from places(one, (*at, key))


@st.composite
def changed(draw):
    name = draw(st.sampled_from(JSON))
    text = (FOLDER / name).read_text(encoding="utf-8")
    several = name.endswith("l")
    said = [json.loads(line) for line in text.splitlines()] if several else json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(list(places(said))))
        place = said
        for key in path:
            place = place[key]
        place[last] = deepcopy(draw(ODD))
    lines = [json.dumps(one) for one in said] if several else [json.dumps(said)]
    return SAMPLES[name], "\n".join(lines).encode()


@settings(max_examples=300, deadline=None)
@given(changed())
def test_a_value_of_another_kind_is_read_or_refused_in_words(sent):
    try:
        events, _ = heard(*sent)
    except BadPayload as refused:
        assert refused.message and refused.where
    else:
        assert all(0 <= event.time_ns <= 2**62 and event.node for event in events)


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize("door", sorted({SAMPLES[name] for name in JSON} - {"kernel", "slurm"}))
def test_what_is_nested_too_deep_is_refused(door, depth):
    with pytest.raises(BadPayload):
        heard(door, b'{"a":' * depth)


@pytest.mark.parametrize(
    ("door", "line"),
    [
        ("slurm", f"NodeName=gpu-a01 State=DOWN Reason=x{' ' * 300_000}y z"),
        ("slurm", f"NodeName=gpu-a01{' ' * 300_000}y State=DOWN"),
        ("ipmi", f"1 | 11/30/2026 | 02:11:09 | Temperature | {'temp' * 220} | Asserted\n" * 100),
    ],
)
def test_a_line_that_repeats_itself_does_not_cost_its_square(door, line):
    events, _ = heard(door, line.encode())
    assert {event.kind for event in events} <= {"node_down", "thermal"} and events


def test_long_names_that_begin_alike_are_told_apart():
    place = f"/var/lib/kubelet/pods/{'0' * 36}/volumes/kubernetes.io~csi/pvc-"
    lines = [f'node_filesystem_readonly{{mountpoint="{place}{n}"}} {n % 2}' for n in range(4)]
    events, _ = heard("metrics", "\n".join(lines).encode())
    assert [event.device for event in events] == [f"{place}1", f"{place}3"]
    assert len({event.key for event in events}) == 2
