"""What the real `wandb` client logs as an artifact: references become checkpoints, the rest costs
the training no time, no complaint and no network."""

from dataclasses import replace

import pytest

from tests.stack import until
from tests.wandb_client import BROKEN, OLD, UPLOAD, Proxy, finish

SLOW_S = 5.0
FAKE_S3 = {
    "boto3.py": "class session:\n    class Session:\n        def resource(self, *_, **__):\n"
    "            return object()\n",
    "botocore/__init__.py": "",
    "botocore/client.py": "class Config: pass\n",
}
"""Without a checksum the client asks S3 nothing, but it wants to import its library."""
HEAD = """
import os, time, wandb
run = wandb.init(project="p", id="RUN", mode="MODE")
for step in range(101):
    run.log({"loss": 1.0}, step=step)

def save(step, tracker=None):
    folder = f"{os.getcwd()}/ckpt/iter_{step:07}"
    os.makedirs(folder, exist_ok=True)
    for name, size in {"__0_0.distcp": 1000, "__1_0.distcp": 2000, ".metadata": 30}.items():
        with open(f"{folder}/{name}", "wb") as file:
            file.write(os.urandom(size))
    return f"file://{folder}"

def log(name, *references, type="model", metadata=None, aliases=None, checksum=True, fill=None):
    began = time.time()
    artifact = wandb.Artifact(name, type=type, metadata=metadata)
    for reference in references:
        artifact.add_reference(reference, checksum=checksum)
    if fill:
        fill(artifact)
    logged = run.log_artifact(artifact, aliases=aliases)
    if "MODE" == "online":
        logged.wait()
        print("TOOK", time.time() - began)
    return logged
"""
EVERYTHING = (
    HEAD
    + """
with open("weights.bin", "wb") as file:
    file.write(b"x" * 5_000_000)

def with_files(artifact):
    artifact.add_file("weights.bin")
    artifact.add(wandb.Table(columns=["x"], data=[[1]]), "table")

log("hashed", save(100), aliases=["latest", "iter_0000100"])
log("megatron", save(50), metadata={"iteration": 50}, aliases=["iter_0000050"], checksum=False,
    fill=lambda a: a.add_file("weights.bin"))
log("bucket", "s3://bucket/ckpt/step-2000/", type="checkpoint", checksum=False)
log("weights", fill=with_files)
log("data", type="dataset", fill=with_files)
linked = log("linked", save(7))
run.link_artifact(linked, "p/best")
linked.aliases.append("good")
linked.save()
for part in ("__0_0.distcp", "__1_0.distcp", ".metadata"):
    artifact = wandb.Artifact("together", type="model")
    artifact.add_reference(f"{save(9)}/{part}", checksum=False)
    send = run.finish_artifact if part == ".metadata" else run.upsert_artifact
    send(artifact, distributed_id="nine")
run.log({"t": wandb.Table(columns=["x"], data=[[1]])})
run.log({f"page{n}": wandb.Html(f"<b>{n}") for n in range(30)})
run.log_code(".", include_fn=lambda path: path.endswith("boto3.py"))
began = time.time()
run.finish()
print("TOOK", time.time() - began)
"""
)


def script(text, run, mode="online"):
    return text.replace("RUN", run).replace("MODE", mode)


def checkpoints(stack, run):
    until(lambda: stack.drained(run), "the writer to catch up")
    return {found["step"]: found for found in stack.get(f"runs/{run}/checkpoints")["items"]}


@pytest.fixture(scope="module")
def place(wandb, tmp_path_factory):
    """A place of its own, where a library for S3 is installed."""
    home = tmp_path_factory.mktemp("artifacts")
    (home / "botocore").mkdir()
    for name, text in FAKE_S3.items():
        (home / name).write_text(text)
    return replace(wandb, home=home)


@pytest.fixture(scope="module")
def done(place):
    return place.run(script(EVERYTHING, "arts"))


@pytest.fixture(scope="module")
def found(stack, done):
    return checkpoints(stack, "arts")


def test_the_client_has_nothing_to_complain_of_and_does_not_wait(done):
    took = [float(line.split()[1]) for line in done.said.splitlines() if line[:5] == "TOOK "]
    assert (done.code, done.complaints) == (0, []), done.said
    assert (len(took), max(took) < SLOW_S) == (7, True), took


@pytest.mark.parametrize("step", [100, 50, 7, 9])
def test_a_local_folder_is_a_whole_checkpoint(place, found, step):
    kept = found[step]
    assert kept["path"] == f"{place.home}/ckpt/iter_{step:07}"
    assert kept["files"] == {"__0_0.distcp": 1000, "__1_0.distcp": 2000, ".metadata": 30}
    assert (kept["level"], kept["complete"]) == ("committed", True)


def test_the_step_of_the_path_counts_and_the_other_is_said(found):
    doubts = {s: [f["message"] for f in kept["findings"]] for s, kept in found.items()}
    assert doubts[100] == []
    assert doubts[50] == ["its path says step 50, the W&B step says 100"]


def test_a_folder_nobody_looked_into_says_so(found):
    kept = found[2000]
    assert (kept["path"], kept["complete"]) == ("s3://bucket/ckpt/step-2000", False)
    assert [f["code"] for f in kept["findings"]] == ["UNCHECKED", "STEP_MISMATCH"]


def test_everything_else_is_counted(stack, found):
    assert sorted(found) == [7, 9, 50, 100, 2000]
    counters = stack.counters("arts")
    assert counters["files_not_kept: artifact"] >= 5
    assert counters["files_not_kept: media"] >= 31
    assert counters["artifacts_not_kept"] >= 3
    assert counters.get("quarantined", 0) == 0


def test_an_offline_run_brings_its_checkpoint_once(stack, place):
    text = HEAD + 'log("ckpt", save(70), checksum=False)\nrun.finish()\n'
    assert place.run(script(text, "later", "offline")).code == 0
    synced = [finish(place.start_sync("later", *again)) for again in ((), ("--no-skip-synced",))]
    assert [(end.code, end.complaints) for end in synced] == [(0, []), (0, [])]
    (kept,) = checkpoints(stack, "later").values()
    assert (kept["step"], kept["complete"]) == (70, True)
    assert stack.counters("later")["checkpoints"] == 1


def test_an_old_client_registers_its_checkpoint_too(stack, wandbs, tmp_path):
    text = HEAD + (
        'log("ckpt", save(80), aliases=["latest"])\n'
        'log("weights", fill=lambda a: a.add_file("ckpt/iter_0000080/.metadata"))\n'
        'run.log({"t": wandb.Table(columns=["x"], data=[[1]])})\n'
        "run.finish()\n"
    )
    end = replace(wandbs[OLD], home=tmp_path).run(script(text, "aged"))
    assert (end.code, end.complaints) == (0, []), end.said
    (kept,) = checkpoints(stack, "aged").values()
    assert (kept["step"], kept["complete"]) == (80, True)


class Once:
    """Loses the first answer of each kind about an artifact; the first upload meets trouble."""

    def __init__(self):
        self.left = {"CreateArtifact", "CreateArtifactManifest", "CommitArtifact", UPLOAD}

    def __call__(self, proxy, kind):
        if kind not in self.left:
            return None
        self.left.remove(kind)
        return BROKEN if kind == UPLOAD else proxy.CUT


def test_answers_that_are_lost_and_trouble_leave_one_checkpoint(stack, place):
    fault = Once()
    proxy = Proxy(stack, fault)
    text = HEAD + 'log("ckpt", save(60))\nrun.finish()\n'
    end = replace(place, url=proxy.url).run(script(text, "shaky"))
    proxy.close()
    assert (end.code, fault.left) == (0, set()), end.said
    (kept,) = checkpoints(stack, "shaky").values()
    assert (kept["step"], kept["complete"], kept["findings"][1:]) == (60, True, [])
    assert stack.counters("shaky")["checkpoints"] == 1
