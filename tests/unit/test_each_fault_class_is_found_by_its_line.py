"""logs.domain.classify: the shipped taxonomy."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.triage.classify import (
    _ADVICE,
    ANCHORS,
    BadTaxonomy,
    build_taxonomy,
    severity_without_level,
    suspicious,
    taxonomy,
)
from apps.logs.domain.triage.faultclass import ROLES

EXAMPLES = yaml.safe_load(
    (Path(__file__).parents[1] / "samples/logs/fault_lines.yaml").read_text(encoding="utf-8")
)
FOUND_BY_STRUCTURE = {"early_exit_zero", "hang_no_error", "straggler"}
CLASS = {"id": "a", "role": "cause", "literals": ["x"], "regex": ["x"]}


@pytest.mark.parametrize(("name", "line"), EXAMPLES.items())
def test_the_example_is_classified(name, line):
    found = taxonomy().classify(line)
    assert found is not None
    assert found.id == name


@given(
    st.sampled_from([*EXAMPLES.values(), ""]),
    st.sampled_from([*EXAMPLES.values(), ""]),
    st.integers(0, 200),
    st.text(max_size=5),
    st.dictionaries(st.sampled_from("0123456789"), st.sampled_from("0123456789"), max_size=3),
)
def test_what_may_fit_is_remembered_by_shape_and_never_wrong(line, other, cut, between, digits):
    message = f"{line[cut:]}{between}{other}".translate(str.maketrans(digits))
    found = taxonomy().classify(message)
    text = _ADVICE.split(message, maxsplit=1)[0]
    fits = [
        fault
        for fault in taxonomy().classes.values()
        if any(literal in text for literal in fault.literals)
        and any(regex.search(text) for regex in fault.regexes)
    ]
    rank = max(((fault.match_priority, fault.specificity) for fault in fits), default=None)
    if rank is None:
        assert found is None or found.id == "py_exception"
    else:
        assert (found.match_priority, found.specificity) == rank


@pytest.mark.parametrize(("name", "line"), EXAMPLES.items())
def test_the_example_passes_the_pre_filters(name, line):
    fault = taxonomy().classes[name]
    lowered = suspicious(line)
    assert lowered is not None
    assert name == "py_exception" or any(literal in line for literal in fault.literals)
    assert severity_without_level(line) >= 30


def test_each_class_with_a_regex_has_an_example():
    assert set(EXAMPLES) == set(taxonomy().classes) - FOUND_BY_STRUCTURE


def test_each_class_has_what_a_verdict_needs():
    assert all(c.role in ROLES and c.title and c.action for c in taxonomy().classes.values())


def test_anchors_have_no_digits():
    """Boring messages are remembered without their digits."""
    assert not [anchor for anchor in ANCHORS if any(c.isdigit() for c in anchor)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.distributed.DistBackendError: x, remote process exited", "py_exception"),
        (
            "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error.",
            "dataloader_worker",
        ),
        ("AssertionError", "py_exception"),
        ("all good", None),
        ("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", None),
        ("Ray: OOM (Out of memory) might be caused by CUDA out of memory", None),
    ],
)
def test_one_line_has_one_class(line, expected):
    found = taxonomy().classify(line)
    assert (found.id if found else None) == expected


def test_advice_is_no_evidence():
    line = next(iter(EXAMPLES.values()))
    assert taxonomy().classify(line) is not None
    assert taxonomy().classify(f"For debugging consider: {line}") is None


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "no list of classes"),
        ({"classes": [{"role": "cause"}]}, "class without id"),
        ({"classes": [{"id": "a"}]}, "class 'a' has role None"),
        ({"classes": [{"id": "a", "role": "culprit"}]}, "class 'a' has role 'culprit'"),
        ({"classes": [CLASS, CLASS]}, "class id 'a' is used twice"),
        ({"classes": [CLASS | {"regex": ["("]}]}, "class 'a': missing )"),
    ],
)
def test_a_taxonomy_without_sense_is_refused(document, message):
    with pytest.raises(BadTaxonomy, match=message.replace("(", r"\(").replace(")", r"\)")):
        build_taxonomy(document)
