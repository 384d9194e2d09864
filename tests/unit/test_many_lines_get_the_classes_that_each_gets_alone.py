"""logs.domain.triage.faultlines: a batch at once, and the classes of a project."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apps.core.records import Severity
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.table import LineTable
from apps.logs.domain.triage.classify import taxonomy
from apps.logs.domain.triage.faultlines import faults_in, raise_severity
from apps.logs.domain.triage.ownmatching import Budget
from tests.own_classes import LANE, with_lane

EXAMPLES = yaml.safe_load(
    (Path(__file__).parents[1] / "samples/logs/fault_lines.yaml").read_text(encoding="utf-8")
)
SAID = ["fabric lane 7 lost", "PLANE B DOWN", "plane e down", "fabric lane x lost", "step 3", ""]
PREFIX = "[rank3]: "
WITH_LANE = with_lane()


def batch(*messages, severity=Severity.INFO, prefix=""):
    count = len(messages)
    return LineColumns.of(
        LineTable(
            "x.log",
            time_ns=[0] * count,
            seq=list(range(count)),
            channel=["stderr"] * count,
            local_rank=[None] * count,
            rank=[None] * count,
            severity=[severity] * count,
            step=[None] * count,
            text=[prefix + message for message in messages],
            message_at=[len(prefix)] * count,
        )
    )


def ids(faults):
    return {number: fault.id for number, fault in faults.by_line.items()}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*EXAMPLES.values(), *SAID]),
            st.sampled_from([*EXAMPLES.values(), *SAID]),
            st.integers(0, 60),
            st.text(st.characters(exclude_characters="\n\r"), max_size=4),
            st.dictionaries(st.sampled_from("0123456789"), st.sampled_from("0123456789")),
        ),
        max_size=5,
    ),
    st.sampled_from([taxonomy(), WITH_LANE]),
)
def test_a_batch_is_classified_like_its_lines(said, classes):
    messages = [
        f"{line[cut:]}{between}{other}".translate(str.maketrans(digits))
        for line, other, cut, between, digits in said
    ]
    alone = {at: f.id for at, text in enumerate(messages) if (f := classes.classify(text))}
    assert ids(faults_in(batch(*messages, prefix=PREFIX), classes, every=True)) == alone


def test_built_in_classes_take_warnings_and_errors_only():
    line = EXAMPLES["cuda_oom"]
    assert not faults_in(batch(line), taxonomy()).by_line
    assert ids(faults_in(batch(line, severity=Severity.ERROR), taxonomy())) == {0: "cuda_oom"}


def test_a_class_of_the_project_takes_any_line_and_makes_it_severe():
    lines = batch("step 1", "fabric lane 7 lost", "Plane C down")
    faults = faults_in(lines, with_lane(LANE, replace(LANE, key="other")))
    assert ids(faults) == {1: "lane_lost", 2: "lane_lost"}
    raise_severity(lines, faults)
    assert lines.severity.tolist() == [Severity.INFO, Severity.ERROR, Severity.ERROR]


def test_it_never_makes_a_line_less_severe():
    lines = batch("fabric lane 7 lost", severity=Severity.CRITICAL)
    raise_severity(lines, faults_in(lines, WITH_LANE))
    assert lines.severity.tolist() == [Severity.CRITICAL]


@pytest.mark.parametrize("on", [True, False])
def test_it_comes_before_a_built_in_class_while_it_is_on(on):
    mine = replace(LANE, key="leak", patterns=("CUDA out of memory. Tried to",), on=on)
    found = with_lane(mine).classify(EXAMPLES["cuda_oom"])
    assert found.id == ("leak" if on else "cuda_oom")


def test_a_built_in_class_that_is_off_leaves_the_line_to_the_others():
    line = EXAMPLES["cuda_oom"]
    assert with_lane(off=("cuda_oom",)).classify(line).id == "py_exception"


def test_the_version_tells_both():
    label = taxonomy().label
    assert (with_lane(version=0).label, with_lane(version=7).label) == (label, f"{label}.7")


def test_lines_for_which_there_is_no_time_are_counted():
    clock = iter(range(100))
    lines = batch(*["fabric lane 7 lost"] * 40)
    faults = faults_in(lines, WITH_LANE, budget=Budget(1.0, lambda: next(clock)))
    assert (len(faults.by_line), faults.unread) == (32, 8)
