"""incidents.domain.similar."""

from dataclasses import replace

from apps.core.records import Suspect
from apps.incidents.domain.incident import EarliestSignal, Hypothesis
from apps.incidents.domain.similar import SHOWN, similar
from tests.incident_samples import incident

RATE = Hypothesis("learning_rate", "the rate changed", "config", 0.9)
B02 = Suspect(5, "gpu-b02", "silent_corruption", 0.8)


def test_a_suspected_host_in_common_comes_first():
    one = incident(suspects=(B02,), hypotheses=(RATE,))
    host = incident(id=1, kind="failure", suspects=(B02,))
    cause = incident(id=2, kind="level_shift", hypotheses=(RATE,))
    found = similar(one, [cause, host])
    assert [row.incident.id for row in found] == [1, 2]
    assert [row.why for row in found] == [
        ("host gpu-b02 suspected",),
        ("same cause: learning rate",),
    ]


def test_the_kind_alone_is_too_little_and_with_the_first_signal_enough():
    signal = EarliestSignal("grad_norm/layers.4", 9, 9)
    one = incident(earliest_signal=signal)
    assert similar(one, [incident(id=1)]) == ()
    (found,) = similar(one, [incident(id=1, earliest_signal=signal)])
    assert found.why == ("also explosion", "grad_norm/layers.4 moved first")


def test_an_unknown_cause_is_nothing_in_common():
    unknown = replace(RATE, cause="unknown")
    one = incident(hypotheses=(unknown,))
    assert similar(one, [incident(id=1, kind="failure", hypotheses=(unknown,))]) == ()


def test_an_incident_is_not_similar_to_itself_and_the_newest_come_first():
    one = incident(suspects=(B02,))
    others = [incident(id=n, suspects=(B02,)) for n in range(1, 10)]
    found = similar(one, [one, *others])
    assert [row.incident.id for row in found] == [9, 8, 7, 6, 5][:SHOWN]
