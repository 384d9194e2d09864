"""What a real client logs, odd values included, `wandb.Api` gives back equal to the bit."""

import json
import math
import struct

import pytest

from tests.stack import until

SENT = """
import json, math, os, random, wandb
run = wandb.init(project="bits", id="bits")
random.seed(7)
rows = [{"x": random.uniform(-1, 1) * 10 ** random.randint(-300, 300)} for _ in range(50)]
rows += [
    {"x": math.nan, "up": math.inf, "down": -math.inf},
    {"tiny": 5e-324, "huge": 1.7976931348623157e308},
    {"int": 2**53, "big": 2**53 + 1, "bigger": 2**62 + 1, "negative": -(2**60) - 1, "zero": 0},
    {"yes": True, "no": False, "one": 1, "none": None},
    {"text": "a \\u00e9 \\u4e2d \\U0001f600 \\"quoted\\"", "empty": ""},
    {"list": [1, 2.5, "x", None, [True]]},
    {"nested": {"a": {"b": 1.5, "name": "n"}, "flag": True, "none": None}, "nested2/a": 3.5},
    {"hist": wandb.Histogram([1, 2, 2, 3], num_bins=4), "x": 0.1},
    {"only": "text"},
]
for row in rows:
    run.log(row)
run.finish()
plain = [{k: v for k, v in row.items() if k != "hist"} for row in rows]
print("SENT", json.dumps(plain))
print("HIST", json.dumps(rows[57]["hist"].to_json(run)))
"""
READ = """
import json, wandb
run = wandb.Api().run("bits/bits")
print("FOUND", json.dumps({
    "scan": list(run.scan_history()),
    "history": run.history(samples=1000, pandas=False),
    "text": list(run.scan_history(keys=["text", "empty"])),
    "nested": run.history(keys=["nested.a.b"], pandas=False),
    "keys": sorted(run.history_keys["keys"]),
}))
"""


def told(done, word):
    lines = [line for line in done.said.splitlines() if line.startswith(f"{word} ")]
    assert lines, done.said
    return json.loads(lines[0].removeprefix(f"{word} "))


@pytest.fixture(scope="module")
def sent(stack, wandb):
    done = wandb.run(SENT)
    until(lambda: stack.drained("bits"), "the writer to catch up")
    rows = told(done, "SENT")
    rows[57]["hist"] = told(done, "HIST")
    return rows


@pytest.fixture(scope="module")
def found(sent, reader):
    return told(reader.run(READ), "FOUND")


def bits(value):
    """Equal only for equal values: doubles by their bits, NaN as NaN, true apart from 1."""
    if isinstance(value, dict):
        return {name: bits(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [bits(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, bool | str) or value is None:
        return (type(value).__name__, value)
    return ("int", value) if value == int_of(value) else ("float", struct.pack("<d", value))


def int_of(value):
    return int(value) if math.isfinite(value) and value == int(value) else None


@pytest.mark.parametrize("way", ["scan", "history"])
def test_every_row_reads_back_as_it_was_logged(sent, found, way):
    own = {"_step", "_timestamp", "_runtime"}
    rows = [{k: v for k, v in row.items() if k not in own} for row in found[way]]
    assert [bits(row) for row in rows] == [bits(row) for row in sent]


def test_steps_and_times_come_with_them(sent, found):
    assert [row["_step"] for row in found["scan"]] == [*range(len(sent))]
    stamps = [row["_timestamp"] for row in found["scan"]]
    assert stamps == sorted(stamps)
    assert all(row["_runtime"] >= 0 for row in found["scan"])


def test_rows_are_found_by_what_is_no_number_and_by_what_is_inside(sent, found):
    (row,) = found["text"]
    assert (row["text"], row["empty"]) == (sent[54]["text"], "")
    assert found["nested"] == [{"_step": 56, "nested.a.b": 1.5}]


def test_names_of_what_is_no_number_are_known(found):
    assert {"text", "list", "hist", "nested/a/name", "x"} <= set(found["keys"])
    assert not any(key.startswith("hist/") for key in found["keys"])


def test_the_stored_line_gives_back_its_time_to_the_bit(stack, sent):
    lines = stack.get("runs/bits/ingest")["counters"]
    assert not any(name.startswith("skipped") for name in lines), lines
