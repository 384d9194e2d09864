"""What the agent sends of torchrun folders and consoles."""

from tests.agents import (
    Running,
    append,
    append_by_pieces,
    config,
    lines,
    log_path,
    send_once,
    wait_until,
)

STDERR = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)
START_NS = 1_795_981_560_000_000_000


def test_files_of_all_ranks_and_channels(server, tmp_path):
    append(log_path(tmp_path), lines(0, 300))
    append(log_path(tmp_path, rank=1, name="stdout.log"), b"hello\n")
    log_path(tmp_path, rank=1).touch()

    status = send_once(config(server, tmp_path))

    assert server.files() == {
        STDERR: lines(0, 300),
        ("gpu-a01", "job_1/attempt_0/1/stdout.log", 0): b"hello\n",
    }
    assert (status["sent_lines"], status["dead_letters"], status["error"]) == (301, 0, "")
    assert status["sent_batches"] > 1


def test_a_segment_says_what_it_is(server, tmp_path):
    append(log_path(tmp_path, rank=3), lines(0, 2))

    send_once(config(server, tmp_path, time_shift_ns=7))

    ((header, data),) = server.opened("logs")
    seen_ns = header["segments"][0].pop("seen_ns")
    assert seen_ns == log_path(tmp_path, rank=3).stat().st_mtime_ns
    assert header == {
        "v": 1,
        "attempt": 0,
        "node": "gpu-a01",
        "time_shift_ns": 7,
        "segments": [
            {
                "source": "job_1/attempt_0/3/stderr.log",
                "local_rank": 3,
                "channel": "stderr",
                "offset": 0,
                "bytes": len(data),
                "generation": 0,
            }
        ],
    }


def test_the_start_is_registered_with_the_time_of_its_first_line(server, tmp_path):
    append(log_path(tmp_path), b"no stamp here\n" + lines(0, 3))
    append(log_path(tmp_path, rank=1), lines(9, 12))

    send_once(config(server, tmp_path, time_shift_ns=5, resume_step=600))

    assert server.launch_bodies == [
        {
            "slot": "torchrun:gpu-a01",
            "launch": "gpu-a01/job_1/attempt_0",
            "started_ns": START_NS + 5,
            "node": "gpu-a01",
            "resume_step": 600,
        }
    ]


def test_a_file_that_grows_by_pieces_of_lines_arrives_whole(server, tmp_path):
    data = lines(0, 400)
    path = log_path(tmp_path)
    with Running(config(server, tmp_path)):
        append_by_pieces(path, data, 777)
        wait_until(lambda: server.files().get(STDERR) == data)

    assert {segment.get("partial", False) for segment in server.segments()} == {False}


def test_new_ranks_and_new_attempts_are_found_while_following(server, tmp_path):
    append(log_path(tmp_path), lines(0, 5))
    with Running(config(server, tmp_path)):
        wait_until(lambda: len(server.files()) == 1)
        append(log_path(tmp_path, rank=1), lines(0, 5))
        append(log_path(tmp_path, attempt=1), lines(3, 9))
        wait_until(lambda: len(server.files()) == 3)

    assert server.files()["gpu-a01", "job_1/attempt_1/0/stderr.log", 0] == lines(3, 9)
    assert [(s["source"][:15], s["attempt"]) for s in server.segments()] == [
        ("job_1/attempt_0", 0),
        ("job_1/attempt_0", 0),
        ("job_1/attempt_1", 1),
    ]


def test_attempts_are_taken_in_the_order_of_their_numbers(server, tmp_path):
    append(log_path(tmp_path, attempt=10), lines(0, 1))
    append(log_path(tmp_path, attempt=2), lines(0, 1))

    send_once(config(server, tmp_path))

    assert [body["launch"] for body in server.launch_bodies] == [
        "gpu-a01/job_1/attempt_2",
        "gpu-a01/job_1/attempt_10",
    ]


def test_a_console_belongs_to_the_newest_start_of_its_node(server, tmp_path):
    append(log_path(tmp_path), lines(0, 3))
    append(tmp_path / "console.log", b"[default0]:hello\n")

    send_once(config(server, tmp_path, console=(tmp_path / "console.log",)))

    console = server.segments()[-1]
    assert (console["source"], console["channel"]) == ("console.log", "console")
    assert (console["local_rank"], console["attempt"]) == (None, 0)
    assert len(server.launches) == 1


def test_a_console_alone_is_a_start(server, tmp_path):
    append(tmp_path / "console.log", lines(0, 3))

    send_once(config(server, tmp_path, torchrun=(), console=(tmp_path / "console.log",)))

    assert list(server.launches) == [("torchrun:gpu-a01", "gpu-a01/console.log")]
    assert server.launch_bodies[0]["started_ns"] == START_NS


def test_bytes_that_are_no_utf8_arrive_as_they_are(server, tmp_path):
    data = b"good\n\xff\xfe\x00 bad\r\n\xf0\x9f\n"
    append(log_path(tmp_path), data)

    send_once(config(server, tmp_path))

    assert server.files() == {STDERR: data}


def test_a_second_run_on_the_same_state_sends_only_what_is_new(server, tmp_path):
    append(log_path(tmp_path), lines(0, 50))
    send_once(config(server, tmp_path))
    append(log_path(tmp_path), lines(50, 60))

    status = send_once(config(server, tmp_path))

    assert status["sent_lines"] == 10
    assert server.files() == {STDERR: lines(0, 60)}


def test_the_same_files_with_a_new_state_are_the_same_batches(server, tmp_path):
    append(log_path(tmp_path), lines(0, 300))
    send_once(config(server, tmp_path))
    batches = list(server.order)

    send_once(config(server, tmp_path, state_dir=tmp_path / "other"))

    assert server.order == batches
