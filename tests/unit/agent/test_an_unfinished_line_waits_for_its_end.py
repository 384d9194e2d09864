"""Last lines without a line end, and lines that are too long."""

from tests.agents import Running, append, config, limits, lines, log_path, send_once, wait_until

KEY = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)


def parts(server):
    return [(s["offset"], s["bytes"], s.get("partial", False)) for s in server.segments()]


def test_it_is_held_back_while_it_may_grow(server, tmp_path):
    path = log_path(tmp_path)
    append(path, b"first\nsec")
    with Running(config(server, tmp_path, limits=limits(idle_s=30.0))):
        wait_until(lambda: server.files())
        append(path, b"ond\n")
        wait_until(lambda: server.files()[KEY] == b"first\nsecond\n")

    assert parts(server) == [(0, 6, False), (6, 7, False)]


def test_after_a_silence_it_is_sent_as_partial(server, tmp_path):
    path = log_path(tmp_path)
    append(path, b"first\nKilled")
    with Running(config(server, tmp_path)):
        wait_until(lambda: server.files().get(KEY) == b"first\nKilled")
        append(path, b" here\n")
        wait_until(lambda: server.files()[KEY] == b"first\nKilled here\n")

    assert parts(server) == [(0, 6, False), (6, 6, True), (12, 6, False)]


def test_in_a_complete_file_it_is_sent_at_once(server, tmp_path):
    append(log_path(tmp_path), b"first\nKilled")

    assert send_once(config(server, tmp_path))["sent_lines"] == 2
    assert parts(server) == [(0, 6, False), (6, 6, True)]


def test_a_file_of_one_unfinished_line_is_sent(server, tmp_path):
    append(log_path(tmp_path), b"Killed")

    send_once(config(server, tmp_path))

    assert parts(server) == [(0, 6, True)]


def test_a_line_beyond_the_limit_is_sent_in_parts(server, tmp_path):
    data = b"a\n" + b"b" * 15000 + b"\n" + b"c\n"
    append(log_path(tmp_path), data)

    send_once(config(server, tmp_path))

    assert server.files() == {KEY: data}
    assert parts(server) == [
        (0, 2, False),
        (2, 6000, True),
        (6002, 6000, True),
        (12002, 3003, False),
    ]


def test_a_long_line_within_the_limit_stays_whole(server, tmp_path):
    data = lines(0, 3) + b"b" * 5900 + b"\n" + lines(3, 6)
    append(log_path(tmp_path), data)

    send_once(config(server, tmp_path, limits=limits(batch_bytes=100)))

    assert server.files() == {KEY: data}
    assert {part for *_, part in parts(server)} == {False}
