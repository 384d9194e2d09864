"""Answers of the deck, cut to what the page had before: merged in the browser they are whole."""

import copy
import random
from pathlib import Path

import numpy as np
import orjson
import pytest

from apps.core.plain import plain
from apps.dashboard import curves as cv
from apps.dashboard import figures
from apps.dashboard.delta import NOTHING, Until, delta, read_mark
from apps.metrics.domain import downsample, tiers

CASES, ANSWERS, POINTS = 15, 12, 40
SCRIPT = Path(__file__).parents[2] / "static/js/deck_delta.js"
MERGE = """
(cases) => {
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const sorted = (value) => Array.isArray(value) ? value.map(sorted)
    : value && typeof value === "object"
      ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
      : value;
  const wrong = [];
  cases.forEach((answers, at) => {
    let had = null;
    answers.forEach(({ delta, whole }, n) => {
      const before = JSON.stringify(had);
      const next = window.delta.merged(had, delta);
      if (JSON.stringify(had) !== before) wrong.push([at, n, "changed what was there"]);
      had = next;
      const { mark, ...rest } = had;
      if (!same(sorted(rest), sorted(whole))) wrong.push([at, n, "differs"]);
    });
  });
  return wrong;
}
"""


class Story:
    """A run that trains on, is late, goes back, breaks; and a person who looks at it."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.rows = {"loss": [[]], "slow": [[]]}
        self.end, self.zoom, self.smooth, self.pinned = 0, None, 0.0, False

    def act(self):
        self.chance.choice(
            [self.train] * 6 + [self.late, self.go_back, self.break_down, self.look, self.wait]
        )()

    def train(self, first=None, value=None):
        start = self.end if first is None else first
        for step in range(start, start + self.chance.randint(1, 30)):
            self.log("loss", step, self.chance.random() if value is None else value)
            if step % 7 == 0:
                self.log("slow", step, self.chance.random())
            self.end = max(self.end, step + 1)

    def log(self, key, step, value):
        self.rows[key][-1].append((step, 10**18 + 10**9 * step, value))

    def late(self):
        self.train(first=self.chance.randint(0, max(0, self.end - 1)))

    def go_back(self):
        for attempts in self.rows.values():
            attempts.append([])
        self.end = self.chance.randint(0, self.end)
        self.train()

    def break_down(self):
        self.train(value=self.chance.choice([float("nan"), float("inf"), 1e30]))

    def look(self):
        self.smooth, self.pinned = self.chance.choice([0.0, 0.9]), not self.pinned
        self.zoom = self.chance.choice([None, (0, self.end // 2), (self.end // 2, self.end + 9)])

    def wait(self):
        """Nothing happens."""

    def answer(self, kind):
        found = {key: self.curves(key) for key in ("loss", *(["slow"] if self.pinned else []))}
        spine = found["loss"]
        if not spine:
            return {"axis": None, "charts": {}, "note": "none"}, NOTHING.until
        x = [at for curve in spine for at in cv.to_x(curve, kind)]
        span = self.zoom if self.zoom and kind == "step" else (min(x), max(x))
        axis = cv.axis(kind, span, 5, exact=self.zoom is not None)
        kept = {curve.attempt: spine[at + 1].step[0] if at + 1 < len(spine) else None
                for at, curve in enumerate(spine)}  # fmt: skip
        view = figures.View(smooth=self.smooth)
        charts = {
            key: figures.line_chart(figures.Chart(key, drawn, kept, axis, view=view))
            for key, drawn in found.items()
        }
        answer = {
            "axis": [axis.start, axis.end],
            "charts": charts,
            "note": "",
            "grid": [None, x[:3]],
        }
        return answer, self.until(found, spine[-1], kind)

    def until(self, found, newest, kind):
        width = max(curve.bucket_steps for drawn in found.values() for curve in drawn)
        edge = newest.step[-1] // width * width
        return Until(float(edge) if kind == "step" else 1e12 + edge * 1e3 - 1e-3, newest.attempt)

    def curves(self, key):
        found = []
        for attempt, rows in enumerate(self.rows[key]):
            inside = [r for r in rows if self.zoom is None or self.zoom[0] <= r[0] <= self.zoom[1]]
            if not inside:
                continue
            step, time_ns, value = map(np.asarray, zip(*inside, strict=True))
            value = value.astype(np.float64)
            drawn = downsample.draw_buckets(tiers.from_points(step, time_ns, value, 0), POINTS)
            if not len(drawn):
                continue
            found.append(cv.Curve(
                attempt, drawn.step.tolist(), drawn.time_ns.tolist(), drawn.minimum.tolist(),
                drawn.maximum.tolist(), drawn.last.tolist(), downsample.nonfinite(step, value),
                len(step), len(drawn), 1 << drawn.level,
            ))  # fmt: skip
        return found


def told(seed):
    """What a page is sent, and what it should hold then, answer after answer."""
    story, mark, answers = Story(seed), NOTHING, []
    kind = story.chance.choice(["step", "time"])
    for _ in range(ANSWERS):
        story.act()
        whole, until = story.answer(kind)
        sent = delta(copy.deepcopy(whole), until, mark)
        mark = read_mark(sent["mark"])
        answers.append({"delta": sent, "whole": whole})
    return orjson.loads(orjson.dumps(plain(answers)))


@pytest.fixture
def page(chromium):
    page = chromium.new_page()
    source = SCRIPT.read_text().replace("export function", "function")
    page.add_script_tag(content=f"{source}; window.delta = {{ merged, isNews }};")
    yield page
    page.close()


def test_deltas_merge_to_the_whole_answer_whatever_happened_between_them(page):
    first = random.randrange(1 << 30)
    assert page.evaluate(MERGE, [told(first + at) for at in range(CASES)]) == [], first
