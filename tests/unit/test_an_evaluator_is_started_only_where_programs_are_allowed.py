"""workers.supervisor.plan: processes that cost memory only where they are of use."""

import pytest

from workers.supervisor import plan


@pytest.mark.parametrize(
    ("environ", "extra"),
    [
        ({}, set()),
        ({"EVALUATION_PROGRAMS": "/opt/eval/run"}, {"evaluator"}),
        ({"CHECKPOINT_ROOTS": "/ckpt"}, {"storage"}),
    ],
)
def test_what_is_started_beside_the_usual_processes(tmp_path, environ, extra):
    given = {"LASTGOOD_HOME": str(tmp_path), "DATABASE_URL": "x", "REDIS_URL": "y"} | environ
    names = {spec.name for spec in plan.services(plan.read(given))}
    assert names == {"web", "events", "consumer", "worker", "beat"} | extra
