"""The agent and JSON lines, CSV files (Lightning) and trainer_state.json (Hugging Face)."""

import csv
import json
import os
from dataclasses import replace

import pytest

from tests.agents import Running, append, config, log_path, send_once, wait_until


def rows_of(server):
    """Rows in the order they were sent, as dicts of their filled cells."""
    found = []
    for header, data in server.opened("rows"):
        at = 0
        for length in header["lengths"]:
            found.append(_row(header, data[at : at + length]))
            at += length
    server.pieces("rows")
    return found


def _row(header, raw):
    if header["format"] != "csv":
        return json.loads(raw)
    (row,) = csv.DictReader([header["columns"], raw.decode()])
    return {name: cell for name, cell in row.items() if cell}


class Lightning:
    """Writes as Lightning's CSVLogger does: a new column rewrites the file in place."""

    def __init__(self, path):
        self.path, self.columns = path, []
        path.parent.mkdir(parents=True, exist_ok=True)

    def log(self, **row):
        row = {name: str(value) for name, value in row.items()}
        new = sorted({*self.columns, *row})
        if new != self.columns and self.columns:
            with self.path.open(newline="") as file:
                before = list(csv.DictReader(file))
            with self.path.open("w", newline="") as file:
                writer = csv.DictWriter(file, new)
                writer.writeheader()
                writer.writerows(before)
        fresh, self.columns = not self.columns, new
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, new)
            if fresh:
                writer.writeheader()
            writer.writerow(row)
        return row


@pytest.fixture
def settings(server, tmp_path):
    return config(
        server,
        tmp_path,
        torchrun=(),
        jsonl=(tmp_path / "metrics.jsonl",),
        csv=(tmp_path / "lightning",),
        trainer_state=(tmp_path / "out",),
    )


def test_lines_of_json_are_sent_as_they_grow(server, tmp_path, settings):
    rows = [{"step": n, "loss": n / 7} for n in range(50)]
    with Running(settings):
        for row in rows:
            append(tmp_path / "metrics.jsonl", json.dumps(row).encode() + b"\n")
        wait_until(lambda: len(rows_of(server)) == 50)
    assert rows_of(server) == rows


@pytest.mark.parametrize("name", ["metrics.jsonl", "lightning/metrics.csv"])
def test_what_lay_there_before_the_agent_is_no_live_row(server, tmp_path, settings, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    old, new = (b"step,loss\n1,2\n", b"2,3\n")
    if name.endswith("jsonl"):
        old, new = b'{"step": 1, "loss": 2}\n', b'{"step": 2, "loss": 3}\n'
    append(path, old)
    with Running(settings):
        wait_until(lambda: len(rows_of(server)) == 1)
        append(path, new)
        wait_until(lambda: len(rows_of(server)) == 2)
    assert [header["live"] for header, _ in server.opened("rows")] == [False, True]


def test_a_file_of_json_lines_that_is_begun_anew_is_a_start(server, tmp_path, settings):
    path = tmp_path / "metrics.jsonl"
    append(path, b'{"step": 1, "a": 1}\n{"step": 2, "a": 1}\n')
    send_once(settings)
    path.write_bytes(b'{"step": 1, "a": 2}\n')
    send_once(settings)
    assert [row["a"] for row in rows_of(server)] == [1, 1, 2]
    assert [header["attempt"] for header, _ in server.opened("rows")] == [0, 1]


def test_a_column_that_is_added_sends_no_row_again(server, tmp_path, settings):
    file = Lightning(tmp_path / "lightning" / "version_0" / "metrics.csv")
    sent = []
    for step in range(12):
        sent.append(file.log(step=step, train_loss=step / 7))
        if step % 4 == 1:
            sent.append(file.log(step=step, **{f"val_{step}": 0.5}))
        if step % 3 == 2:
            send_once(settings)
    send_once(settings)
    assert rows_of(server) == sent
    assert {header["attempt"] for header, _ in server.opened("rows")} == {0}


def test_a_rewrite_while_it_is_followed_loses_nothing(server, tmp_path, settings):
    file = Lightning(tmp_path / "lightning" / "version_0" / "metrics.csv")
    sent = []
    with Running(settings):
        for step in range(60):
            columns = {f"layer_{step // 6}": step} if step % 2 else {}
            sent.append(file.log(step=step, train_loss=step / 7, **columns))
        wait_until(lambda: len(rows_of(server)) == len(sent))
    assert rows_of(server) == sent


def test_a_half_written_rewrite_is_waited_for(server, tmp_path, settings):
    path = tmp_path / "lightning" / "metrics.csv"
    path.parent.mkdir()
    path.write_bytes(b"loss,step\n2.5,1\n2.25,2\n")
    with Running(settings):
        wait_until(lambda: len(rows_of(server)) == 2)
        path.write_bytes(b"acc,loss,step\n,2.5,1\n")
        wait_until(lambda: path.stat().st_size)
        append(path, b",2.25,2\n0.5,2.0,3\n")
        wait_until(lambda: len(rows_of(server)) == 3)
    assert [row["step"] for row in rows_of(server)] == ["1", "2", "3"]


def test_a_row_with_a_line_feed_in_quotes_is_one_row(server, tmp_path, settings):
    path = tmp_path / "lightning" / "metrics.csv"
    path.parent.mkdir()
    path.write_bytes(b'step,note\n1,"a\nb"\n2,c')
    send_once(settings)
    headers = [(header["first"], header["lengths"]) for header, _ in server.opened("rows")]
    assert headers == [(0, [8, 3])]


def test_another_run_in_the_same_csv_file_is_a_start(server, tmp_path, settings):
    path = tmp_path / "lightning" / "metrics.csv"
    path.parent.mkdir()
    path.write_bytes(b"loss,step\n2.5,1\n2.25,2\n")
    send_once(settings)
    path.write_bytes(b"loss,step\n2.5,1\n2.125,2\n")
    send_once(settings)
    assert [row["loss"] for row in rows_of(server)] == ["2.5", "2.25", "2.5", "2.125"]
    assert [header["attempt"] for header, _ in server.opened("rows")] == [0, 1]


def save(tmp_path, steps, *, at, loss=0.5, old=None):
    """A checkpoint as the Trainer saves it at the last of `steps`."""
    folder = tmp_path / "out" / f"checkpoint-{steps[-1]}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(b"x" * 9)
    history = (old or []) + [{"epoch": 0.1, "loss": loss, "step": step} for step in steps]
    path = folder / "trainer_state.json"
    path.write_text(json.dumps({"global_step": steps[-1], "log_history": history}))
    os.utime(path, ns=(at * 10**9, at * 10**9))
    return history


def test_each_checkpoint_of_a_trainer_brings_its_new_rows(server, tmp_path, settings):
    first = save(tmp_path, [10, 20], at=1_795_981_300)
    send_once(settings)
    save(tmp_path, [30, 40], at=1_795_981_400, old=first)
    send_once(settings)
    assert [row["step"] for row in rows_of(server)] == [10, 20, 30, 40]
    assert [(attempt, event["step"]) for attempt, event in server.events()] == [(0, 20), (0, 40)]
    event = server.events()[0][1]
    assert event["ts"] == 1_795_981_300.0
    assert event["files"]["model.safetensors"] == 9


def test_a_trainer_that_went_back_sends_what_is_new_as_another_attempt(server, tmp_path, settings):
    first = save(tmp_path, [10, 20], at=1_795_981_300)
    send_once(settings)
    save(tmp_path, [30, 40], at=1_795_981_400, old=first)
    send_once(settings)
    save(tmp_path, [30, 40, 50], at=1_795_981_500, old=first, loss=0.25)
    send_once(settings)
    assert [row["step"] for row in rows_of(server)] == [10, 20, 30, 40, 30, 40, 50]
    assert [header["attempt"] for header, _ in server.opened("rows")] == [0, 0, 1]


def test_a_state_that_is_being_written_is_left_for_later(server, tmp_path, settings):
    path = tmp_path / "out" / "trainer_state.json"
    path.parent.mkdir()
    with Running(settings):
        path.write_text('{"log_history": [{"step": 1,')
        path.write_text('{"log_history": [{"step": 1, "loss": NaN}]}')
        wait_until(lambda: len(rows_of(server)) == 1)
    assert rows_of(server)[0]["loss"] != rows_of(server)[0]["loss"]


def log_at(tmp_path, attempt, second):
    line = f"2026-11-29 19:46:{second} [INFO] [rank0] hello\n"
    append(log_path(tmp_path, attempt=attempt), line.encode())


def test_a_checkpoint_belongs_to_the_start_that_ran_when_it_was_saved(server, tmp_path, settings):
    log_at(tmp_path, 0, "00")
    first = save(tmp_path, [10, 20], at=1_795_981_570)
    with Running(replace(settings, torchrun=(tmp_path / "logs",))):
        wait_until(lambda: len(server.events()) == 1)
        log_at(tmp_path, 1, "30")
        wait_until(lambda: len(server.launches) == 2)
        save(tmp_path, [30, 40], at=1_795_981_600, old=first)
        wait_until(lambda: len(server.events()) == 2)
    assert [(attempt, event["step"]) for attempt, event in server.events()] == [(0, 20), (1, 40)]


def test_an_agent_that_lost_its_state_names_the_rows_of_a_trainer_as_before(
    server, tmp_path, settings
):
    first = save(tmp_path, [10, 20], at=1_795_981_300)
    send_once(settings)
    save(tmp_path, [30, 40], at=1_795_981_400, old=first)
    send_once(replace(settings, state_dir=tmp_path / "other"))
    assert len({header["part"] for header, _ in server.opened("rows")}) == 1
