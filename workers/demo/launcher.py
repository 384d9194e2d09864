"""Plays the training cluster of one run: starts it, obeys a rollback, starts it again."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from workers.demo.folder import EVENTS, RecordedRun, RecordedStart
from workers.demo.orders import Orders
from workers.demo.replay import Timing, play, time_shift_ns
from workers.demo.script import Script, script_of
from workers.tailer import durable
from workers.tailer.server import Server, Verdict

ROOT = Path(__file__).resolve().parents[2]
RETRY_S = 1.0
STOP_S = 12.0
RETIRE_S = 15.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a launcher works. live: folder of this run's files. token_file: for the agents."""

    run: str
    url: str
    token: str
    token_file: Path
    live: Path
    speed: float
    say: Callable[[str], None]


class Begun(msgspec.Struct, frozen=True):
    """A start that has begun. order, branch: the rollback it follows, and where it saves."""

    number: int
    begun_ns: int
    shift_ns: int
    order: int | None = None
    branch: str = ""


class Launcher:
    """One run of the demo. It may be killed and made again on the same folder: it goes on."""

    def __init__(self, recorded: RecordedRun, stage: Stage) -> None:
        self._recorded, self._stage = recorded, stage
        self._orders = Orders(stage.url, stage.token, stage.run)
        self._server = Server(stage.url, stage.token, 30.0)
        self._file = stage.live / "launcher.json"
        self._begun = self._load()
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._replaced = threading.Event()
        self._player: threading.Thread | None = None
        self._agents: list[AgentProcess] = []
        self._retiring: list[AgentProcess] = []
        self._watcher = threading.Thread(target=self._watch, daemon=True, name=stage.run)

    def start(self) -> None:
        """Begin the first start, or go on with the newest one; then wait for orders."""
        if self._begun:
            self._play(self._begun[-1])
        else:
            self._begin(self._recorded.starts[0], None)
        self._watcher.start()

    def tick(self) -> None:
        """Start agents again that have died; end those of a replaced start after a while."""
        for agent in [*self._agents, *self._retiring]:
            agent.revive()

    def stop(self) -> None:
        """End replay and agents; what is complete is sent first."""
        self._stopping.set()
        with self._changing:
            self._halt()
            for agent in self._retiring:
                agent.stop()
            for agent in self._retiring:
                agent.wait(STOP_S)
        self._server.close()
        self._watcher.join(RETRY_S)
        if not self._watcher.is_alive():
            self._orders.close()

    def _watch(self) -> None:
        while (order := self._orders.next(self._stopping)) is not None:
            if order["order"] in {begun.order for begun in self._begun}:
                self._stopping.wait(RETRY_S)
                continue
            try:
                self._obey(order)
            except OSError as error:
                self._say(f"ERROR: {error}")
                self._orders.forget()
                self._stopping.wait(RETRY_S)

    def _obey(self, order: Mapping[str, Any]) -> None:
        number, step = order["order"], order["step"]
        following = self._begun[-1].number
        if following >= len(self._recorded.starts):
            self._say(f"order {number} (step {step}) is left alone: no further start was recorded")
            return
        start = self._recorded.starts[following]
        launch = launch_name(start)
        if step != start.resume_step:
            launch += f" (demo: plays the recorded resume from step {start.resume_step})"
            self._say(
                f"order {number} says step {step}, but the recording resumed from step "
                f"{start.resume_step}: that one is played"
            )
        refusal = self._orders.acknowledge(number, launch)
        if refusal:
            self._say(f"order {number} could not be acknowledged ({refusal})")
            self._orders.forget()
            self._stopping.wait(RETRY_S)
            return
        self._say(f"order {number} acknowledged: starting again from step {start.resume_step}")
        with self._changing:
            if not self._stopping.is_set():
                self._halt()
                self._begin(start, number, order["env"]["CKPT_BRANCH_DIR"])

    def _begin(self, start: RecordedStart, order: int | None, branch: str = "") -> None:
        """Play a start from its beginning, from now on."""
        script = script_of(self._recorded, start, branch)
        timing = Timing(time.time_ns(), self._stage.speed)
        shift_ns = time_shift_ns(script, timing, catch_up=start.number == 1)
        begun = Begun(start.number, timing.begun_ns, shift_ns, order, branch)
        self._register(start, shift_ns)
        self._begun.append(begun)
        self._stage.live.mkdir(parents=True, exist_ok=True)
        durable.write(self._file, msgspec.json.encode(self._begun))
        self._play(begun, script)

    def _play(self, begun: Begun, script: Script | None = None) -> None:
        start = self._recorded.starts[begun.number - 1]
        live = self._stage.live / f"start-{begun.number}"
        timing = Timing(begun.begun_ns, self._stage.speed)
        script = script or script_of(self._recorded, start, begun.branch)
        self._replaced = threading.Event()
        self._player = threading.Thread(
            target=play, args=(script, live, timing, self._replaced), daemon=True
        )
        self._player.start()
        self._agents = [
            AgentProcess(agent_words(self._stage, start, index, begun.shift_ns), live / host.node)
            for index, host in enumerate(start.hosts)
        ]

    def _halt(self) -> None:
        """End the replay. The agents stay a little: they may still have something to send."""
        self._replaced.set()
        if self._player is not None:
            self._player.join(STOP_S)
        for agent in self._agents:
            agent.retire()
        self._retiring += self._agents
        self._agents = []

    def _register(self, start: RecordedStart, shift_ns: int) -> None:
        """Tell the server of the start host by host, before their agents do: the same names."""
        for index, host in enumerate(start.hosts):
            launch = {
                "slot": f"torchrun:{host.node}",
                "launch": launch_name(start, index),
                "started_ns": start.started_ns + shift_ns,
                "node": host.node,
                "resume_step": start.resume_step,
            }
            answer = self._server.register(self._stage.run, launch)
            while answer.verdict is not Verdict.TAKEN and not self._stopping.is_set():
                self._say(f"start not registered ({answer.status}: {answer.message})")
                self._stopping.wait(answer.wait_s or RETRY_S)
                answer = self._server.register(self._stage.run, launch)

    def _say(self, text: str) -> None:
        self._stage.say(f"{self._stage.run}: {text}")

    def _load(self) -> list[Begun]:
        if not self._file.exists():
            return []
        return msgspec.json.decode(self._file.read_bytes(), type=list[Begun])


def launch_name(start: RecordedStart, host: int = 0) -> str:
    """The stable name of a start on one of its hosts, as its agent would give it."""
    logs = start.hosts[host]
    if logs.torchrun is None:
        return f"{logs.node}/start-{start.number}"
    job = sorted(path.name for path in logs.torchrun.iterdir() if path.is_dir())[0]
    return f"{logs.node}/{job}/attempt_0"


def agent_words(stage: Stage, start: RecordedStart, host: int, shift_ns: int) -> list[str]:
    """The command line of the agent on one host; the first one has metrics and checkpoints."""
    node = start.hosts[host].node
    folder = stage.live / f"start-{start.number}" / node
    words = ["--run", stage.run, "--node", node, "--url", stage.url]
    words += ["--token-file", str(stage.token_file), "--state", str(folder / "agent")]
    words += ["--torchrun", str(folder / "torchrun"), "--console", str(folder / "console.log")]
    words += ["--time-shift-ns", str(shift_ns)]
    if host == 0:
        words += ["--wandb", str(folder / "wandb"), "--checkpoints", str(folder / EVENTS)]
    if start.resume_step is not None:
        words += ["--resume-step", str(start.resume_step)]
    return words


class AgentProcess:
    """The process of one agent; its output is in agent.log of its folder."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._words, self._folder = words, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._stopped = False
        self._ends_s = float("inf")
        self._began_s = time.monotonic()
        self._process = self._spawn()

    def revive(self) -> None:
        """Start it again if it has died, at most once in two seconds; end it when it is time."""
        if time.monotonic() > self._ends_s:
            self.stop()
        died = self._process.poll() is not None and not self._stopped
        if died and time.monotonic() - self._began_s > 2 * RETRY_S:
            self._process = self._spawn()

    def retire(self) -> None:
        """Its files grow no more: end it in RETIRE_S."""
        self._ends_s = min(self._ends_s, time.monotonic() + RETIRE_S)

    def stop(self) -> None:
        """Ask it to send what is complete and end."""
        self._stopped = True
        self._process.terminate()

    def wait(self, timeout_s: float) -> None:
        """Until it has ended; killed after `timeout_s`."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._began_s = time.monotonic()
        with (self._folder / "agent.log").open("ab") as out:
            return subprocess.Popen(  # noqa: S603 - our own words
                [sys.executable, "-m", "workers.tailer", *self._words],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
