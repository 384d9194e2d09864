"""Answers lost, late, 429, 500, nobody there: each step of the real `wandb` clients is stored once.

Each client has a faulty way of its own to the same server, and all run at the same time.
"""

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

import pytest

from tests.stack import until
from tests.wandb_client import BROKEN, BUSY, HISTORY, UNAVAILABLE, VERSIONS, Proxy, finish

STEPS = 120
SLOW_S, AWAY_S = 4.0, 20.0
LOG = f"""
import time, wandb
run = wandb.init(project="faults", id="RUN")
for step in range({STEPS}):
    run.log({{"loss": float(step)}})
    time.sleep(0.05)
run.finish()
"""
OFTEN = {"WANDB_X_FILE_STREAM_TRANSMIT_INTERVAL": "1"}
"""The new client would send all in one post after 15 s; the old one sends every 2 s."""


@dataclass
class Fault:
    """kind of request -> what its first requests are answered, and how long each is held back.

    away_s: how long nobody listens after the first request of HISTORY.
    """

    answers: dict[str, list[bytes | None]] = field(default_factory=dict)
    delay_s: dict[str, float] = field(default_factory=dict)
    away_s: float = 0.0
    numbers: dict[str, count] = field(default_factory=lambda: defaultdict(count))
    times_s: list[float] = field(default_factory=list)

    def __call__(self, proxy, kind):
        number, answers = next(self.numbers[kind]), self.answers.get(kind, [])
        if kind == HISTORY:
            self.times_s.append(time.monotonic())
        if kind == HISTORY and self.away_s and number == 1:
            proxy.vanish(self.away_s)
        time.sleep(self.delay_s.get(kind, 0.0))
        return answers[number] if number < len(answers) else None

    @property
    def over(self):
        """Whether requests came after the last bad answer, and something had been bad at all."""
        enough = [next(self.numbers[kind]) > len(bad) for kind, bad in self.answers.items()]
        return all(enough) and (enough or self.delay_s or self.away_s) and len(self.times_s) > 1


FAULTS = {
    "lost": lambda: Fault({HISTORY: [Proxy.CUT, None, Proxy.CUT]}),
    "busy": lambda: Fault({HISTORY: [None, BUSY, BUSY]}),
    "broken": lambda: Fault({HISTORY: [BROKEN, BROKEN, BROKEN]}),
    "slow": lambda: Fault(delay_s={HISTORY: SLOW_S}),
    "away": lambda: Fault(away_s=AWAY_S),
    "start": lambda: Fault(
        {"UpsertBucket": [BROKEN, BROKEN, BROKEN, UNAVAILABLE]}, delay_s={"Viewer": SLOW_S}
    ),
}
each = pytest.mark.parametrize(
    ("case", "version"), [(case, version) for case in FAULTS for version in VERSIONS]
)


@pytest.fixture(scope="module")
def faulty(stack, wandbs):
    """(case, version) -> how its client ended, its faults."""
    cases = [(case, version) for case in FAULTS for version in VERSIONS]
    faults = {case: FAULTS[case[0]]() for case in cases}
    proxies = {case: Proxy(stack, fault) for case, fault in faults.items()}
    clients = {
        case: replace(wandbs[case[1]], url=proxy.url).start(
            LOG.replace("RUN", "-".join(case)), **OFTEN
        )
        for case, proxy in proxies.items()
    }
    ended = {case: (finish(client), faults[case]) for case, client in clients.items()}
    until(lambda: all(stack.drained("-".join(case)) for case in cases), "the writer to catch up")
    yield ended
    [proxy.close() for proxy in proxies.values()]


@each
def test_the_client_ends_well_and_worries_nobody(faulty, case, version):
    done, fault = faulty[case, version]
    assert (done.code, done.worries) == (0, []), done.said
    assert fault.over, done.said


@each
def test_each_step_is_stored_once(stack, faulty, case, version):
    run = f"{case}-{version}"
    assert stack.steps_of(run, ["loss"]) == {"loss": [*range(STEPS)]}
    counters = stack.counters(run)
    assert (counters.get("gaps", 0), counters.get("quarantined", 0)) == (0, 0)
    found = stack.get(f"runs/{run}")
    assert (found["state"], len(found["attempts"])) == ("finished", 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_whose_answer_was_lost_came_again(stack, faulty, version):
    counters = stack.counters(f"lost-{version}")
    assert counters.get("repeated_lines", 0) + counters.get("duplicate_batches", 0) > 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_waits_for_a_slow_answer_before_it_sends_more(faulty, version):
    times_s = faulty["slow", version][1].times_s
    pauses_s = [after - before for before, after in pairwise(times_s)]
    assert min(pauses_s) >= SLOW_S
