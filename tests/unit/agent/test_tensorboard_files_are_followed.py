"""The agent and TensorBoard event files: growth, restarts, writers that go on, damage."""

import os

import pytest

from tests.agents import (
    Running,
    append,
    append_by_pieces,
    config,
    log_path,
    send_once,
    wait_until,
)
from tests.event_files import T0_S, framed, goes_on, sample, scalar, version
from workers.tailer.__main__ import main

S = 1_000_000_000


def event_file(tmp_path, began_s=1000, *, folder="tb", number=0):
    path = tmp_path / folder / f"events.out.tfevents.{began_s}.gpu-a01.7.{number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture
def settings(server, tmp_path):
    return config(server, tmp_path, torchrun=(), tensorboard=(tmp_path / "tb",))


def records_of(server):
    return {file: list(have.values()) for (file, _), have in server.pieces("tensorboard").items()}


def name_of(path):
    return "/".join(path.parts[-3:])


def test_a_growing_file_arrives_record_by_record(server, tmp_path, settings):
    records = [version(), *(scalar(n, float(n)) for n in range(300))]
    path = event_file(tmp_path)
    with Running(settings):
        append_by_pieces(path, framed(records), 977)
        wait_until(lambda: len(records_of(server).get(name_of(path), ())) == len(records))
    assert records_of(server) == {name_of(path): records}


def test_each_restart_is_a_start_at_its_first_event(server, tmp_path, settings):
    append(event_file(tmp_path), framed([version(), scalar(1, 1.0)]))
    append(event_file(tmp_path, 2000), framed([version(500), goes_on(1, 500), scalar(1, 1.0)]))
    send_once(settings)
    assert [(b["slot"], b["started_ns"], b["resume_step"]) for b in server.launch_bodies] == [
        ("tensorboard:", T0_S * S, None),
        ("tensorboard:", (T0_S + 500) * S, 1),
    ]
    headers = [header for header, _ in server.opened("tensorboard")]
    assert [header["attempt"] for header in headers] == [0, 1]


def test_a_second_file_of_a_process_is_no_start(server, tmp_path, settings):
    append(event_file(tmp_path), framed([version(), scalar(1, 1.0)]))
    valid = event_file(tmp_path, folder="tb/val", number=1)
    append(valid, framed([version(), scalar(1, 2.0, tag="loss")]))
    send_once(settings)
    assert len(server.launch_bodies) == 1
    assert [header.get("under") for header, _ in server.opened("tensorboard")] == [None, "val"]


def test_a_writer_that_goes_on_in_its_process_is_a_start(server, tmp_path, settings):
    append(event_file(tmp_path), framed([version(), scalar(9, 1.0)]))
    later = event_file(tmp_path, 1500, number=1)
    append(later, framed([version(500), goes_on(5, 500), scalar(5, 2.0)]))
    send_once(settings)
    assert [header["attempt"] for header, _ in server.opened("tensorboard")] == [0, 1]


def test_a_restart_in_another_folder_takes_the_place_of_the_first(server, tmp_path, settings):
    for began_s, folder in ((1000, "tb/Nov29_19-00"), (1010, "tb/Nov29_19-01")):
        path = event_file(tmp_path, began_s, folder=folder)
        append(path, framed([version(began_s - 1000), scalar(1, 1.0)]))
        os.utime(path, (began_s + 5, began_s + 5))
    send_once(settings)
    assert {body["slot"] for body in server.launch_bodies} == {"tensorboard:Nov29_19-00"}


def test_a_process_beside_another_one_has_a_place_of_its_own(server, tmp_path, settings):
    for pid in (7, 8):
        path = tmp_path / "tb" / f"rank_{pid}" / f"events.out.tfevents.1000.gpu-a01.{pid}.0"
        path.parent.mkdir(parents=True)
        append(path, framed([version(), scalar(1, 1.0)]))
    send_once(settings)
    assert [body["slot"] for body in server.launch_bodies] == [
        "tensorboard:rank_7",
        "tensorboard:rank_8",
    ]


def of_rank(tmp_path, pid, began_s, *, changed_s):
    path = tmp_path / "tb" / f"rank_{pid}" / f"events.out.tfevents.{began_s}.gpu-a01.{pid}.0"
    path.parent.mkdir(parents=True, exist_ok=True)
    append(path, framed([version(began_s - 1000), scalar(1, 1.0, at_s=began_s - 1000)]))
    os.utime(path, (changed_s, changed_s))
    return path


def test_a_writer_that_has_not_flushed_since_another_began_did_not_end(server, tmp_path, settings):
    """A writer flushes every two minutes; the ranks of a job begin some seconds apart."""
    of_rank(tmp_path, 7, 1000, changed_s=1000.5)
    of_rank(tmp_path, 8, 1004, changed_s=1004.5)
    send_once(settings)
    assert {body["slot"] for body in server.launch_bodies} == {
        "tensorboard:rank_7",
        "tensorboard:rank_8",
    }


def test_ranks_that_are_restarted_each_take_their_own_place(server, tmp_path, settings):
    for began_s in (1000, 2000):
        for pid in (7, 8):
            of_rank(tmp_path, pid, began_s, changed_s=began_s + 500)
    send_once(settings)
    assert [body["slot"] for body in server.launch_bodies] == [
        "tensorboard:rank_7",
        "tensorboard:rank_8",
    ] * 2


def test_ranks_that_are_restarted_in_new_folders_share_no_place(server, tmp_path, settings):
    for began_s, pids in ((1000, (7, 8)), (2000, (17, 18))):
        for pid in pids:
            of_rank(tmp_path, pid, began_s, changed_s=began_s + 500)
    send_once(settings)
    assert sorted(body["slot"] for body in server.launch_bodies) == [
        *["tensorboard:rank_7"] * 2,
        *["tensorboard:rank_8"] * 2,
    ]


def test_the_place_of_a_process_stays_when_an_earlier_one_writes_again(server, tmp_path, settings):
    first = of_rank(tmp_path, 7, 1000, changed_s=1200)
    of_rank(tmp_path, 8, 2000, changed_s=2001)
    send_once(settings)
    os.utime(first, (3000, 3000))
    append(
        tmp_path / "tb" / "rank_8" / "events.out.tfevents.2000.gpu-a01.8.0",
        framed([scalar(2, 1.0)]),
    )
    send_once(settings)
    assert len(server.launch_bodies) == 2
    assert [header["attempt"] for header, _ in server.opened("tensorboard")] == [0, 1, 1]


def test_a_process_that_only_evaluates_is_no_start(server, tmp_path, settings):
    append(event_file(tmp_path, folder="tb/train"), framed([version(), scalar(1, 1.0)]))
    for began_s in (1100, 1200):
        path = event_file(tmp_path, began_s, folder="tb/eval")
        append(path, framed([version(), scalar(1, 2.0, tag="loss")]))
    send_once(settings)
    assert len(server.launch_bodies) == 1
    assert [h.get("under") for h, _ in server.opened("tensorboard")] == [None, "eval", "eval"]


def test_beside_rank_logs_the_start_is_theirs(server, tmp_path, settings):
    log = tmp_path / "logs" / "job_1" / "attempt_0" / "0" / "stderr.log"
    log.parent.mkdir(parents=True)
    append(log, b"2026-11-29 19:46:00 [INFO] [rank0] hello\n")
    append(event_file(tmp_path), framed([version(), scalar(1, 1.0)]))
    send_once(config(server, tmp_path, tensorboard=(tmp_path / "tb",)))
    assert [body["slot"] for body in server.launch_bodies] == ["torchrun:gpu-a01"]
    assert [header["attempt"] for header, _ in server.opened("tensorboard")] == [0]


def test_a_start_whose_logs_are_still_empty_is_waited_for(server, tmp_path):
    old, new = (log_path(tmp_path, attempt=attempt) for attempt in (0, 1))
    append(old, b"2026-11-29 19:36:00 [INFO] [rank0] hello\n")
    with Running(config(server, tmp_path, tensorboard=(tmp_path / "tb",))) as running:
        wait_until(lambda: server.launches)
        new.touch()
        wait_until(lambda: len(running.agent._collector.found.logs) == 2)
        append(event_file(tmp_path), framed([version(), scalar(1, 1.0)]))
        streams = running.agent._collector.sources._streams
        wait_until(lambda: any(stream.early for stream in list(streams.values())))
        append(new, b"2026-11-29 19:40:20 [INFO] [rank0] hello again\n")
        wait_until(lambda: list(server.opened("tensorboard")))
    append(event_file(tmp_path), framed([scalar(2, 1.0)]))
    send_once(config(server, tmp_path, tensorboard=(tmp_path / "tb",)))
    assert [header["attempt"] for header, _ in server.opened("tensorboard")] == [1, 1]


def test_a_very_large_record_is_stepped_over(server, tmp_path, settings):
    big = b"\x2a" + b"x" * (2 << 20)
    path = event_file(tmp_path)
    append(path, framed([version(), big, scalar(1, 1.0)]))
    send_once(settings)
    assert records_of(server) == {name_of(path): [version(), b"", scalar(1, 1.0)]}


def test_damage_costs_its_record_and_is_told(server, tmp_path, settings):
    records = [version(), scalar(1, 1.0), scalar(2, 2.0)]
    data = framed(records)
    at = data.index(records[1]) + 2
    append(event_file(tmp_path), data[:at] + b"\xff" + data[at + 1 :])
    status = send_once(settings)
    assert status["source_problems"] == 1
    assert list(records_of(server).values()) == [[version(), b"", scalar(2, 2.0)]]


def test_files_of_real_writers_are_sent_by_command(server, tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    words = ["--run", "r", "--node", "n", "--url", server.url, "--token-file", str(token)]
    words += ["--state", str(tmp_path / "state"), "--once"]
    assert main([*words, "--tensorboard", str(sample("tensorboard").parent)]) == 0
    assert sorted(map(len, records_of(server).values())) == [8, 25]


def test_another_file_stops_a_transfer_with_a_reason(server, tmp_path, settings):
    append(event_file(tmp_path), b"no event file at all, but long enough")
    with pytest.raises(Exception, match="does not begin with a record"):
        send_once(settings)
