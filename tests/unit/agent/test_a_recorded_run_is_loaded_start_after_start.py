"""workers.demo.loading against a server that only keeps what it gets."""

import pytest

from apps.core.errors import AppError
from apps.ingest.wandb.parse import read_records
from workers.demo import recordings
from workers.demo.folder import read_folder
from workers.demo.loading import Target, is_analysed, load


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_folder(recordings.unpack("sdc_rollback", tmp_path_factory.mktemp("runs")))


def test_every_byte_and_record_of_both_starts_arrives(server, run, tmp_path):
    load(run, Target(server.url, "secret", "r"), tmp_path)

    files = {(node, source): data for (node, source, _), data in server.files().items()}
    sent = sorted(run.folder.glob("gpu-*/*/attempt_0/*/stderr.log"))
    assert len(files) == len(sent) + 4
    assert {
        (p.parts[-5].removesuffix("-2"), "/".join(p.parts[-4:])): p.read_bytes() for p in sent
    }.items() <= files.items()
    wandb = [read_records(path.read_bytes()).records for path in run.folder.glob("wandb/*/*.wandb")]
    found = [len(header["lengths"]) for header, _ in server.opened("wandb")]
    assert sum(found) == sum(len(records) for records in wandb)


def test_starts_are_registered_in_order_of_time_with_the_resumed_step(server, run, tmp_path):
    load(run, Target(server.url, "secret", "r"), tmp_path)

    assert [(body["slot"], body["resume_step"]) for body in server.launch_bodies] == [
        ("torchrun:gpu-a01", None),
        ("wandb", None),
        ("torchrun:gpu-b02", None),
        ("torchrun:gpu-a01", 600),
        ("wandb", 600),
        ("torchrun:gpu-b03", 600),
    ]


def test_checkpoints_go_with_the_start_that_saved_them(server, run, tmp_path):
    load(run, Target(server.url, "secret", "r"), tmp_path)

    assert [(attempt, event["step"]) for attempt, event in server.events()] == [
        *((0, step) for step in range(100, 900, 100)),
        *((1, step) for step in range(700, 1300, 100)),
    ]
    with_metadata = [event["step"] for _, event in server.events() if "metadata_b64" in event]
    assert with_metadata == [100, 600]


def test_loading_again_makes_the_same_batches(server, run, tmp_path):
    first = load(run, Target(server.url, "secret", "r"), tmp_path / "a")
    order = list(server.order)

    assert load(run, Target(server.url, "secret", "r"), tmp_path / "b") == first
    assert server.order == order


def test_a_refused_token_ends_the_load(server, run, tmp_path):
    with pytest.raises(AppError, match="the server refuses the token"):
        load(run, Target(server.url, "wrong", "r"), tmp_path)


@pytest.mark.parametrize(
    ("status", "done"),
    [
        ({"pending": 0, "behind": 0}, True),
        ({"pending": 1, "behind": 0}, False),
        ({"pending": 0, "behind": 2}, False),
    ],
)
def test_analysed_means_nothing_waits_and_nothing_is_behind(status, done):
    assert is_analysed(status) is done
