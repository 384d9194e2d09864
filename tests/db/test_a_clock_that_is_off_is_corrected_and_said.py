"""logs.services.triage on recorded runs of two hosts, the clock of one of them wrong."""

import pytest

from apps.logs.services import triage
from apps.logs.store import write_lines
from apps.runs import store as runs
from tests.failure_cases import SEEN_NS, all_files, recorded

pytestmark = pytest.mark.django_db

S = 10**9


def judged(run, off_s):
    """The finding if the clock of gpu-b02 is so many seconds ahead."""
    run_id = runs.ensure_run(f"{run}-{off_s}")
    runs.open_attempt(run_id, 0, 0)
    for file in all_files(recorded(run)):
        shift_ns = off_s * S if file.node == "gpu-b02" else 0
        segment = file.segment(time_shift_ns=shift_ns)
        write_lines(run_id, 0, file.node, [segment], batch_id=file.source)
    (finding,) = triage(run_id, 0, SEEN_NS)
    return finding


@pytest.mark.parametrize("off_s", [-90, 45])
def test_the_verdict_is_the_same_and_the_correction_is_told(off_s):
    straight, shifted = judged("exc_r6", 0), judged("exc_r6", off_s)
    for name in ("rank", "node", "title", "onset_step"):
        assert getattr(shifted, name) == getattr(straight, name)
    for name in ("fault_class", "confidence", "tied", "why"):
        assert shifted.facts[name] == straight.facts[name]
    # Of two hosts each is off by half: nobody knows who is right.
    half = f"gpu-b02 by {-off_s / 2:+.2f} s"
    assert half in shifted.facts["course"]["order"][0]
    assert "agree within" in straight.facts["course"]["order"][0]


def test_a_line_shows_both_clocks():
    (first, *_) = [
        line for line in judged("exc_r6", 45).facts["course"]["lines"] if line["node"] == "gpu-b02"
    ]
    assert abs(first["own_ns"] - first["time_ns"] - 22.5 * S) < 0.1 * S
