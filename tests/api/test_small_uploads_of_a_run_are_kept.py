"""Files that a `wandb` run uploads: few are kept, none is asked for in vain."""

import base64

import orjson
import pytest

from apps.ingest.store import counters
from apps.ingest.wandb import uploads
from apps.runs import store as runs

FIRST = {"name": "r1", "project": "p", "host": "h", "program": "train.py", "config": "{}"}
NEW, OLD = "wandb-core", "W&B Internal Client 0.16.6"


@pytest.fixture
def ask(client, token, valkey):
    """One GraphQL operation of a client of this name."""
    basic = base64.b64encode(f"api:{token}".encode()).decode()

    def send(operation, agent=NEW, **variables):
        headers = {"Authorization": f"Basic {basic}", "User-Agent": agent}
        body = orjson.dumps({"operationName": operation, "query": "", "variables": variables})
        answer = client.post("/graphql", body, "application/json", headers=headers)
        return answer.json()["data"]

    send("UpsertBucket", **FIRST)
    return send


@pytest.fixture
def address(ask):
    """Where a file is to be put."""

    def of(name, agent=NEW):
        made = ask("CreateRunFiles", agent, project="p", run="r1", files=[name])
        (target,) = made["createRunFiles"]["files"]
        return target["uploadUrl"]

    return of


@pytest.fixture
def run_id(ask):
    return runs.ensure_run("r1")


def put(client, url, content, **headers):
    return client.put(url, content, "application/octet-stream", headers=headers)


@pytest.mark.parametrize("content", [b"torch==2.13.0\n", b"x" * uploads.MAX_BYTES])
def test_a_known_file_is_kept_as_it_was_sent(client, address, run_id, content):
    assert put(client, address("requirements.txt"), content).status_code == 200
    kept = uploads.upload(run_id, "requirements.txt")
    (info,) = uploads.uploads(run_id)
    assert (kept.content, kept.info, info.content_bytes) == (content, info, len(content))


SLURM = {"job_id": "7", "procid": "1", "localid": "1", "ntasks": "2", "nnodes": "1"}
PLACE = {
    "host": "gpu-b04",
    "gpu_count": 2,
    "gpu_nvidia": [{"uuid": "GPU-0"}, {"uuid": "GPU-1"}],
    "slurm": SLURM,
    "args": ["<b>"],
}


def upload_place(client, ask, address):
    put(client, address("wandb-metadata.json"), orjson.dumps(PLACE))


def configure_place(client, ask, address):
    own = {"_wandb": {"value": {"e": {"w1": PLACE | {"writerId": "w1"}}}}}
    ask("UpsertBucket", name="r1", project="p", config=orjson.dumps(own).decode())


@pytest.mark.parametrize("tell", [upload_place, configure_place])
def test_where_a_process_runs_is_noted(client, reader, ask, address, run_id, tell):
    tell(client, ask, address)
    (place,) = runs.placements(run_id, 0).values()
    assert (place.rank, place.node, place.device) == (1, "gpu-b04", "GPU-1")
    assert (runs.get_run("r1").world_size, runs.get_run("r1").config["wandb/slurm_job"]) == (2, "7")
    page = reader.get("/runs/r1/").content.decode()
    assert "Said by wandb" in page
    assert '<th scope="row">args</th><td class="wrap">&lt;b&gt;</td>' in page


def test_a_late_file_of_an_earlier_attempt_changes_nothing_said_since(client, address, run_id):
    url = address("wandb-metadata.json")
    runs.open_attempt(run_id, 1, 1)
    newer = orjson.dumps(PLACE | {"slurm": SLURM | {"job_id": "8"}})
    uploads.keep(run_id, 1, "wandb-metadata.json", newer)
    put(client, url, orjson.dumps(PLACE))
    assert runs.get_run("r1").config["wandb/slurm_job"] == "8"


def test_sent_again_it_replaces_itself(client, address, run_id):
    url = address("config.yaml")
    answers = [put(client, url, content).status_code for content in (b"lr: 1", b"lr: 2")]
    assert answers == [200, 200]
    assert uploads.upload(run_id, "config.yaml").content == b"lr: 2"


def test_each_attempt_keeps_its_own(client, address, ask, run_id):
    put(client, address("config.yaml"), b"lr: 1")
    ask("UpsertBucket", **FIRST | {"config": '{"lr":{"value":2}}'})
    put(client, address("config.yaml"), b"lr: 2")
    (info,) = uploads.uploads(run_id)
    assert (info.name, info.attempt) == ("config.yaml", 1)


def test_one_that_is_too_large_is_dropped_and_counted(client, address, run_id):
    content = b"x" * (uploads.MAX_BYTES + 1)
    assert put(client, address("requirements.txt"), content).status_code == 200
    assert uploads.uploads(run_id) == []
    assert counters(run_id) == {"files_not_kept": 1, "files_not_kept: too large": 1}


def test_a_new_client_is_not_asked_for_what_would_be_dropped(ask, run_id):
    files = ["config.yaml", "media/images/a b.png"]
    made = ask("CreateRunFiles", project="p", run="r1", files=files)["createRunFiles"]["files"]
    assert [target["name"] for target in made] == ["config.yaml", ""]
    assert [bool(target["uploadUrl"]) for target in made] == [True, False]
    assert counters(run_id) == {"files_not_kept": 1, "files_not_kept: media": 1}


@pytest.mark.parametrize("files", [["a.png"], ["config.yaml", *["a.png"] * 201]])
def test_nothing_but_media_or_very_many_are_refused_in_one_answer(ask, run_id, files):
    assert ask("CreateRunFiles", project="p", run="r1", files=files) is None
    assert counters(run_id)["files_not_kept"] == files.count("a.png")


def test_an_old_client_needs_an_address_for_everything(client, address, run_id):
    assert put(client, address("output.log", OLD), b"hello").status_code == 200
    assert uploads.uploads(run_id) == []
    assert counters(run_id) == {"files_not_kept": 1, "files_not_kept: console": 1}


def test_a_body_that_was_cut_is_asked_for_again(client, address, run_id, monkeypatch):
    url, pieces = address("config.yaml"), iter([b"lr", b""])
    monkeypatch.setattr("django.http.HttpRequest.read", lambda *_: next(pieces))
    answer = put(client, url, b"lr: 1")
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert uploads.uploads(run_id) == []


def test_a_body_without_a_length_is_not_taken_for_an_empty_file(client, address, run_id):
    answer = put(client, address("config.yaml"), b"lr: 1", **{"Content-Length": ""})
    assert (answer.status_code, uploads.uploads(run_id)) == (411, [])


@pytest.mark.parametrize(("name", "status"), [("config.yaml", 503), ("output.log", 200)])
def test_one_that_takes_too_long_keeps_no_thread(client, address, monkeypatch, name, status):
    monkeypatch.setattr("apps.ingest.wandb.putting.MAX_UPLOAD_S", -1.0)
    assert put(client, address(name, OLD), b"lr: 1").status_code == status


def test_an_expired_or_changed_address_takes_nothing(client, address, monkeypatch):
    url = address("config.yaml")
    assert put(client, f"{url}x", b"x").status_code == 403
    monkeypatch.setattr("apps.ingest.wandb.views.UPLOAD_LIFE_S", -1)
    assert put(client, url, b"x").status_code == 403


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("media/table/x.json", "media"),
        ("output_rank-2.log", "console"),
        ("code/train.py", "code"),
        ("ckpt/model.pt", "other"),
        ("model.pt", "other"),
    ],
)
def test_counters_have_names_of_few_kinds(name, kind):
    assert uploads.kind_of(name) == kind
