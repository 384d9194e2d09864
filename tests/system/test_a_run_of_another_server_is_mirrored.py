"""The puller as a process: Lastgood mirrors runs of a Lastgood, kills and steps back included."""

import os
import signal
import subprocess
import sys

import pytest

from tests.stack import ROOT, until

LOG = """
import math, sys, wandb
run = wandb.init(project="src", id="{run}", resume={resume!r}, name="named", config={{"lr": 0.1}},
                 tags=["t"], group="g")
for step in range({first}, {end}):
    run.log({{"loss": {scale} / (step + 3), "text": str(step), "in": {{"a": step, "b": True}}}})
run.log({{"odd": math.nan, "up": math.inf, "list": [1, None, "x"]}})
print("printed by {run} from {first}")
run.finish(exit_code={code})
"""


class Pullers:
    """Starts pullers of the project "src" into the project "dst" of the same stack."""

    def __init__(self, stack, folder):
        self.stack, self.folder = stack, folder
        key = stack.manage("token", "source", "--scope", "read", "--wandb").strip()
        self.env = {**os.environ, "WANDB_API_KEY": key, "HOME": str(folder)}
        (folder / "token").write_text(stack.token)

    def start(self, run, *more):
        argv = [
            *(sys.executable, "-m", "workers.puller", "src", "--source-url", self.stack.url),
            *("--url", self.stack.url, "--token-file", str(self.folder / "token")),
            *("--state", str(self.folder / run), "--project", "dst", "--prefix", "m-"),
            *("--run", run, *more),
        ]
        return subprocess.Popen(
            argv,
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def pull(self, run, *more):
        process = self.start(run, "--once", *more)
        said, _ = process.communicate(timeout=120)
        until(lambda: self.stack.drained(f"m-{run}"), "the writer to catch up")
        return process.returncode, said


@pytest.fixture(scope="module")
def pullers(stack, tmp_path_factory):
    return Pullers(stack, tmp_path_factory.mktemp("pullers"))


def log(stack, wandb, run, first, end, resume=None, scale=1.0, code=0):
    script = LOG.format(run=run, first=first, end=end, resume=resume, scale=scale, code=code)
    done = wandb.run(script)
    assert done.complaints == [], done.said
    until(lambda: stack.drained(run), "the writer to catch up")


def losses(stack, run, attempt=None):
    """(step, loss) of every stored point; a step stored twice stands there twice."""
    which = "" if attempt is None else f"&attempt={attempt}"
    windows = stack.get(f"runs/{run}/series?keys=loss&points=4000{which}")["series"]
    return [
        (step, value)
        for window in windows
        for step, value, count in zip(window["step"], window["last"], window["count"], strict=True)
        for _ in range(count)
    ]


def newest(stack, run):
    """The newest step that is stored of a run."""
    step = stack.get(f"runs/{run}").get("last_step")
    return -1 if step is None else step


READ = """
import json, wandb
api = wandb.Api()
def told(path):
    run = api.run(path)
    return [
        run.name, run.tags, run.group, run.config, run.state,
        run.summary_metrics, list(run.scan_history()), run.history(stream="system", pandas=False),
        [[line.timestamp.isoformat(), line.content] for line in run.console_logs()],
    ]
paths = ("src/whole", "dst/m-whole")
source, mirror = ([json.dumps(part, sort_keys=True) for part in told(path)] for path in paths)
print("SAME", source == mirror)
print(*(f"{a[-500:]}\\n{b[-500:]}" for a, b in zip(source, mirror) if a != b), sep="\\n")
"""


def test_a_mirrored_run_reads_back_as_its_source_does(stack, wandb, reader, pullers):
    log(stack, wandb, "whole", 0, 50, code=1)
    code, said = pullers.pull("whole")
    assert code == 0, said
    told = reader.run(READ).said
    assert "SAME True" in told, told


def test_a_second_look_brings_only_what_is_new(stack, wandb, pullers):
    log(stack, wandb, "grows", 0, 30)
    assert pullers.pull("grows")[0] == 0
    assert pullers.pull("grows")[0] == 0
    log(stack, wandb, "grows", 31, 60, resume="must")
    assert pullers.pull("grows")[0] == 0
    assert losses(stack, "m-grows") == losses(stack, "grows")
    assert stack.counters("m-grows").get("repeated_lines", 0) == 0
    attempts = stack.get("runs/m-grows/attempts")["items"]
    assert [(a["number"], a["exit_code"]) for a in attempts] == [(0, 0), (1, 0)]


def test_a_history_that_goes_back_becomes_an_attempt(stack, wandb, pullers):
    log(stack, wandb, "rewound", 0, 40)
    assert pullers.pull("rewound")[0] == 0
    log(stack, wandb, "rewound", 0, 20, scale=2.0)
    assert pullers.pull("rewound")[0] == 0
    assert losses(stack, "m-rewound", 0) == [(step, 1.0 / (step + 3)) for step in range(40)]
    assert losses(stack, "m-rewound", 1) == [(step, 2.0 / (step + 3)) for step in range(20)]


def test_a_puller_that_is_killed_again_and_again_loses_and_doubles_nothing(stack, wandb, pullers):
    log(stack, wandb, "long", 0, 6_000)
    wanted = losses(stack, "long")
    seen = [-1]
    for _ in range(3):
        process = pullers.start("long", "--once")
        until(lambda p=process: p.poll() is not None or newest(stack, "m-long") > seen[-1], "rows")
        seen.append(newest(stack, "m-long"))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert 0 <= seen[1] < 6_000, "it was to be killed on its way"
    code, said = pullers.pull("long")
    assert code == 0, said
    assert stack.steps_of("m-long", ["loss"]) == stack.steps_of("long", ["loss"])
    assert losses(stack, "m-long") == wanted


def test_a_bad_run_stops_no_other_and_is_told_of(stack, wandb, pullers):
    log(stack, wandb, "foreign", 0, 5)
    taken = wandb.run(
        'import wandb\nr = wandb.init(project="dst", id="m-foreign")\nr.log({"a": 1})\nr.finish()'
    )
    assert taken.code == 0
    code, said = pullers.pull("foreign", "--run", "whole")
    assert (code, "--adopt" in said) == (1, True)
    assert stack.steps_of("m-foreign", ["a"]) == {"a": [0]}
