"""Both ends of a puller in memory: a run that grows, a Lastgood that takes each line once."""

from __future__ import annotations

import json

from workers.puller.records import Described, Facts, Held, Mark


class Killed(BaseException):
    """SIGKILL: nothing after it is done, nothing catches it."""


class FakeRun:
    """A run of the source."""

    def __init__(self, run_id="r", state="running"):
        self.id, self.state = run_id, state
        self.history, self.system, self.printed = [], [], []

    @property
    def facts(self):
        beat = f"{len(self.history)}/{len(self.system)}/{len(self.printed)}"
        return Facts(self.id, self.state, beat, len(self.history))

    def log(self, steps, salt=0.0):
        """Adds rows; salt tells one history from another."""
        self.history += [
            {"_step": step, "_timestamp": 1e9 + step + salt, "loss": step / 3} for step in steps
        ]

    def described(self):
        return Described("name", ["t"], None, None, None, {"lr": {"value": 1}}, {"best": 1})

    def rows(self, first_step):
        yield from [row for row in self.history if row["_step"] >= first_step]

    def is_there(self, mark):
        return any(
            row["_step"] == mark.step and row["_timestamp"] == mark.stamp for row in self.history
        )

    def events(self, after):
        return [line for line in self.system if after is None or line["_timestamp"] > after]

    def console(self, first):
        yield from list(enumerate(self.printed))[first:]

    def console_lines(self):
        return len(self.printed)


class FakeTarget:
    """Lastgood. attempts: of each run, file -> line number -> line. kill_after: requests until the
    puller dies, before (early) or after the request was taken."""

    def __init__(self):
        self.attempts, self.said, self.ends, self.reports = {}, {}, {}, []
        self.kill_after, self.early = None, False

    def _count(self, take):
        if self.kill_after is not None:
            self.kill_after -= 1
            if self.kill_after < 0:
                if not self.early:
                    take()
                raise Killed
        take()

    def held(self, spot):
        if spot.key not in self.attempts:
            return None
        files = self.attempts[spot.key][-1]
        history = files.get("wandb-history.jsonl", {})
        newest = None
        if history:
            line = json.loads(history[max(history)])
            newest = Mark(max(history), line["_step"], line["_timestamp"])
        events = files.get("wandb-events.jsonl", {})
        stamp = json.loads(events[max(events)])["_timestamp"] if events else None
        counts = [len(files.get(n, {})) for n in ("wandb-history.jsonl", "wandb-events.jsonl",
                                                  "output.log")]  # fmt: skip
        return Held(*counts, newest, stamp, "told")

    def begin(self, spot, said, program, told):
        self._count(lambda: self._begin(spot, program, told == "told"))

    def _begin(self, spot, program, resumed):
        known = self.attempts.setdefault(spot.key, [])
        if self.said.get(spot.key) == program and known and not known[-1]:
            return
        self.said[spot.key] = program
        known.append({name: dict(lines) for name, lines in known[-1].items()} if resumed else {})

    def describe(self, spot, said):
        self._count(lambda: None)

    def send(self, spot, lines, **ends):
        self._count(lambda: self._send(spot, lines, ends))

    def _send(self, spot, lines, ends):
        files = self.attempts[spot.key][-1]
        for name, (first, texts) in lines.items():
            if name == "wandb-summary.json":
                continue
            held = files.setdefault(name, {})
            assert first <= len(held), "a gap"
            for number, text in enumerate(texts, first):
                assert held.setdefault(number, text) == text, "another line under a number"
        self.ends[spot.key] = ends

    def report(self, spot, facts, step, behind, error=""):
        self.reports.append((spot.key, step, behind, error))

    def steps(self, key, attempt=-1):
        """The steps of an attempt in the order of their lines."""
        history = self.attempts[key][attempt].get("wandb-history.jsonl", {})
        return [json.loads(history[number])["_step"] for number in range(len(history))]
