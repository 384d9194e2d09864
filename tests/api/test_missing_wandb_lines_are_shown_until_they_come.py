"""A gap in the lines of a wandb process: on the run's page and in the API, with its remedy."""

import orjson
import pytest
from msgspec.structs import replace

from apps.ingest.digest import digest
from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb.gaps import sync_command
from apps.ingest.wandb.lines import HISTORY
from apps.ingest.wandb.process_store import Identity
from apps.runs import store as runs
from tests import factories

COMMAND = "wandb sync --include-online --include-synced /job/wandb/run-*-r1"


@pytest.fixture
def run(db, valkey):
    run_id = runs.ensure_run("r1")
    runs.open_attempt(run_id, 0, factories.T0_NS)
    processes.add_process(run_id, 0, "", factories.T0_NS)
    processes.identify(run_id, 0, "", Identity("w", "gpu-a01", "/job"))
    return run_id


def send(run, first, last):
    lines = [orjson.dumps({"_step": n, "loss": n}).decode() for n in range(first, last)]
    body = orjson.dumps({"files": {HISTORY: {"offset": first, "content": lines}}})
    envelope = factories.envelope("file_stream", body, run_id=run, batch=f"{first}-{last}")
    digest([replace(envelope, attempt=0)])


def test_what_is_missing_is_named_with_the_command_that_brings_it_back(run, ask):
    send(run, 0, 3)
    send(run, 10, 12)
    (missing,) = ask("runs/r1/ingest").json()["missing"]
    assert missing == {
        "attempt": 0,
        "file": HISTORY,
        "first_line": 3,
        "last_line": 9,
        "lines": 7,
        "node": "gpu-a01",
        "command": COMMAND,
    }


def test_the_page_shows_it_and_forgets_it_when_it_is_filled(run, reader):
    send(run, 0, 3)
    assert b"are missing" not in reader.get("/runs/r1/").content
    send(run, 10, 12)
    page = reader.get("/runs/r1/").content.decode()
    assert "7 lines of wandb are missing" in page
    assert "lines 3 to 9 of attempt 0" in page
    assert COMMAND in page
    send(run, 3, 10)
    assert b"are missing" not in reader.get("/runs/r1/").content


@pytest.mark.parametrize(("root", "folder"), [
    ("", "wandb"),
    ("/job/", "/job/wandb"),
    ("/a b; rm -rf /", "'/a b; rm -rf '/wandb"),
])  # fmt: skip
def test_the_command_can_be_pasted_whatever_a_process_says_of_its_folder(root, folder):
    assert sync_command("r1", root).endswith(f" {folder}/run-*-r1")
