"""`--wandb DIR` without `--run`: every run folder below is a start of the run its file names."""

import os
import time

import pytest

from apps.core.errors import AppError
from apps.ingest.wandb.descriptor import MESSAGES
from tests.agents import Running, append, config, send_once, wait_until
from tests.wandb_records import frame, history, record
from workers.tailer import wandbfolders
from workers.tailer.__main__ import config_of, parser
from workers.tailer.followed import Place
from workers.tailer.wandbfolders import LOOKS, OLD_AT_ONCE, REST_S, WandbFiles

LONG_AGO_S = time.time() - 10 * REST_S


def records(run="a", began_s=1_700_000_000):
    said = MESSAGES["Run"](run_id=run.encode(), start_time=MESSAGES["Time"](seconds=began_s))
    return [record("run", said), *(history({"_step": n, "loss": 1.0}) for n in range(3))]


def run_folder(root, name="offline-run-20261129_100000-a", found=None):
    run = name.rsplit("-", 1)[1]
    path = root / name / f"run-{run}.wandb"
    path.parent.mkdir(parents=True)
    append(path, frame(records(run) if found is None else found))
    return path


def settings(server, tmp_path, **changes):
    shared = {"run": "", "torchrun": (), "wandb": (tmp_path / "shared",)}
    return config(server, tmp_path, **(shared | changes))


def runs_of(server):
    launches = [body["launch"] for body in server.launch_bodies]
    return sorted(zip(server.launch_runs, launches, strict=True))


@pytest.mark.parametrize("inside", [".", "wandb", "alice/wandb"])
def test_run_folders_of_several_runs_are_sent_to_the_runs_their_files_name(
    server, tmp_path, inside
):
    root = tmp_path / "shared" / inside
    run_folder(root, "offline-run-20261129_100000-a")
    run_folder(root, "offline-run-20261129_110000-b")

    send_once(settings(server, tmp_path))

    assert runs_of(server) == [
        ("a", "offline-run-20261129_100000-a/run-a.wandb"),
        ("b", "offline-run-20261129_110000-b/run-b.wandb"),
    ]
    assert server.records() == {"run-a.wandb": records("a"), "run-b.wandb": records("b")}


def test_folders_of_one_run_are_its_starts_in_order(server, tmp_path):
    run_folder(tmp_path / "shared", "run-20261129_110000-a")
    run_folder(tmp_path / "shared", "offline-run-20261129_100000-a")

    send_once(settings(server, tmp_path))

    assert [body["launch"] for body in server.launch_bodies] == [
        "offline-run-20261129_100000-a/run-a.wandb",
        "run-20261129_110000-a/run-a.wandb",
    ]


def test_a_folder_that_appears_while_running_is_followed(server, tmp_path):
    (tmp_path / "shared").mkdir()
    with Running(settings(server, tmp_path)):
        path = run_folder(tmp_path / "shared", found=records()[:2])
        wait_until(lambda: server.records() == {"run-a.wandb": records()[:2]})
        append(path, frame(records())[len(frame(records()[:2])) :])
        wait_until(lambda: server.records() == {"run-a.wandb": records()})


def test_a_file_that_comes_later_than_its_folder_is_found(tmp_path):
    files = WandbFiles((tmp_path,), "", {})
    (tmp_path / "offline-run-1-a").mkdir()
    files.look()
    append(tmp_path / "offline-run-1-a" / "run-a.wandb", b"")
    files.look()
    assert [path.name for path in files.active] == ["run-a.wandb"]


def test_links_such_as_latest_run_are_passed_over(server, tmp_path):
    path = run_folder(tmp_path / "shared")
    (tmp_path / "shared" / "latest-run").symlink_to(path.parent)
    (tmp_path / "shared" / "run-b.wandb").symlink_to(path)

    send_once(settings(server, tmp_path))

    assert len(server.launch_bodies) == 1


def test_a_run_that_is_received_live_is_not_sent_again(server, tmp_path):
    server.live = {"a"}
    run_folder(tmp_path / "shared", "run-20261129_100000-a")
    run_folder(tmp_path / "shared", "run-20261129_110000-b")

    status = send_once(settings(server, tmp_path))

    assert server.records() == {"run-b.wandb": records("b")}
    assert status["wandb_files_live"] == 1
    send_once(settings(server, tmp_path))
    assert len(server.launch_bodies) == 2


def test_an_offline_folder_is_sent_whatever_is_received_live_until_it_was_synced(server, tmp_path):
    server.live = {"a", "b"}
    run_folder(tmp_path / "shared", "offline-run-20261129_100000-a")
    synced = run_folder(tmp_path / "shared", "offline-run-20261129_110000-b")
    append(synced.with_name("run-b.wandb.synced"), b"")

    send_once(settings(server, tmp_path))

    assert list(server.records()) == ["run-a.wandb"]


def test_a_young_online_run_waits_until_its_process_has_had_time_to_announce_itself(
    server, tmp_path
):
    young = records(began_s=int(time.time()))
    run_folder(tmp_path / "shared", "run-20261129_100000-a", young)
    run_folder(tmp_path / "shared", "offline-run-20261129_110000-b")
    with Running(settings(server, tmp_path)):
        wait_until(lambda: server.records())
    assert list(server.records()) == ["run-b.wandb"]


def test_a_start_that_the_server_refuses_holds_up_no_other(server, tmp_path):
    server.faults = [(400, "run key")]
    run_folder(tmp_path / "shared", "offline-run-20261129_100000-a")
    run_folder(tmp_path / "shared", "offline-run-20261129_110000-b")
    with Running(settings(server, tmp_path)):
        wait_until(lambda: server.records())
    assert list(server.records()) == ["run-b.wandb"]


def test_a_file_that_is_sent_and_silent_rests_and_is_taken_up_again_when_it_grows(tmp_path):
    path = run_folder(tmp_path)
    os.utime(path, (LONG_AGO_S, LONG_AGO_S))
    inode, size = path.stat().st_ino, path.stat().st_size
    place = Place(path.stat().st_dev, inode, offset=size)
    files = WandbFiles((tmp_path,), "", {str(path): place})
    for _ in range(2):
        files.look()
    assert (list(files.active), files.resting) == ([], 1)

    append(path, b"more")
    files.look()
    assert (list(files.active), files.resting) == ([path], 0)


def test_a_file_of_a_crashed_process_rests_although_its_end_is_cut(server, tmp_path):
    path = run_folder(tmp_path / "shared")
    append(path, b"\x00" * 3 + b"half a record")
    os.utime(path, (LONG_AGO_S, LONG_AGO_S))
    with Running(settings(server, tmp_path)) as running:
        wait_until(lambda: running.agent.status()["wandb_files_resting"] == 1)
    assert server.records() == {"run-a.wandb": records()}


def test_old_files_are_taken_up_few_at_a_time_and_live_ones_at_once(tmp_path):
    for number in range(OLD_AT_ONCE + 4):
        path = run_folder(tmp_path, f"offline-run-{number:03d}-r{number}")
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))
    live = run_folder(tmp_path, "offline-run-999-live")
    files = WandbFiles((tmp_path,), "", {})
    files.look()
    assert (len(files.active), files.waiting) == (OLD_AT_ONCE + 1, 4)
    assert live in files.active


def test_looking_again_lists_no_folder_that_has_not_changed(tmp_path, monkeypatch):
    for number in range(50):
        run_folder(tmp_path, f"offline-run-{number:03d}-r{number}")
    os.utime(tmp_path, (LONG_AGO_S, LONG_AGO_S))
    files = WandbFiles((tmp_path,), "", {})
    files.look()
    listed = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or real(path))
    files.look()
    assert listed == []


def test_other_sources_need_a_run_key(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    words = ["--node", "n", "--url", "http://x", "--token-file", str(token), "--state", "s"]
    assert config_of(parser().parse_args([*words, "--wandb", "w"])).run == ""
    with pytest.raises(AppError, match="torchrun does not say which run it is of"):
        config_of(parser().parse_args([*words, "--torchrun", "t"]))


def test_files_that_wait_are_looked_at_in_turn(tmp_path, monkeypatch):
    for number in range(3 * LOOKS):
        path = run_folder(tmp_path, f"offline-run-{number:04d}-{number}", [])
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))
    files = WandbFiles((tmp_path,), "", {})
    files.look()
    asked = []
    real = wandbfolders._changed_s
    monkeypatch.setattr(wandbfolders, "_changed_s", lambda path: asked.append(path) or real(path))
    files.look()
    assert len(asked) == LOOKS
    grown = tmp_path / "offline-run-0299-299" / "run-299.wandb"
    os.utime(grown)
    files.look()
    files.look()
    assert grown in files.active
