"""workers.benches.trainings, and the loss detector on a few of them."""

import numpy as np
import pytest

from tests.metric_samples import S
from workers.benches import spikes
from workers.benches.trainings import cases, tape
from workers.benches.trainings.models import MODELS, Batch
from workers.benches.trainings.tape import Node


def alarms(case):
    return spikes.alarms_of(spikes.series_of(case.columns(), case.events))


@pytest.mark.parametrize("number", [8, 12])
def test_a_healthy_run_and_one_with_a_wanted_change_page_nobody(number):
    case = cases.case(number)
    assert {event["severity"] for event in case.events} <= {"planned"}
    assert alarms(case) == []


@pytest.mark.parametrize(("number", "kind"), [(22, "nonfinite"), (42, "explosion")])
def test_a_fault_that_its_twin_shows_pages_within_rows(number, kind):
    case = cases.case(number)
    (event,) = case.events
    first = alarms(case)[0]

    assert (event["severity"], first.kind) == ("page", kind)
    assert event["onset_step"] <= first.row <= event["onset_step"] + 5


def test_the_same_number_is_the_same_to_the_bit():
    assert cases.case(12).rows == cases.case(12).rows


def test_every_fate_and_every_model_has_its_turn():
    made = [cases.training(number) for number in range(72)]
    assert {name.split(" ", 1)[1].split(",")[0] for name, _ in made} == set(cases.FATES)
    assert {training.model for _, training in made} == set(MODELS)
    assert {training.every for _, training in made} == {1, 10}


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_finite_differences(name):
    model, batch = MODELS[name], Batch(3, 4)
    weights = model.start(np.random.default_rng(1))

    def loss(values):
        nodes = {key: Node(value) for key, value in values.items()}
        return model.loss(nodes, np.random.default_rng(2), batch)[0], nodes

    out, nodes = loss(weights)
    tape.backward(out)
    rng, step = np.random.default_rng(3), 1e-6
    for key, value in weights.items():
        direction = rng.standard_normal(value.shape)
        high = loss({**weights, key: value + step * direction})[0].value
        low = loss({**weights, key: value - step * direction})[0].value
        slope = float((nodes[key].grad * direction).sum())
        assert slope == pytest.approx(float(high - low) / (2 * step), rel=1e-4, abs=1e-7)


def test_rows_of_a_file_without_times_are_half_a_minute_apart():
    series = spikes.series_of({"step": [0.0, 10.0], "loss": [2.0, None]}, [])
    assert [(row.time_ns, row.loss) for row in series.rows] == [(0, 2.0), (30 * S, None)]
