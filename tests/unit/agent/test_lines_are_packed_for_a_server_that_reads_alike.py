"""workers.tailer: collector, parcels, launches; the bodies of log lines"""

from apps.logs.domain.parcel.reader import reader_number
from tests.agents import append, config, lines, log_path, send_once
from workers.tailer import parcels

KEY = ("gpu-a01", "job_1/attempt_0/0/stderr.log", 0)


def kinds(server):
    return [server.batches[key][0] for key in server.order]


def test_a_server_of_this_reader_gets_parcels(server, tmp_path):
    server.reader = reader_number()
    path = log_path(tmp_path)
    append(path, lines(0, 200))
    send_once(config(server, tmp_path))
    assert set(kinds(server)) == {"packed"}
    assert server.files() == {KEY: path.read_bytes()}


def test_an_agent_that_starts_again_goes_on_with_what_was_left_open(server, tmp_path, monkeypatch):
    server.reader = reader_number()
    path = log_path(tmp_path)
    append(path, lines(0, 100))
    send_once(config(server, tmp_path))
    before = []
    read = parcels.read
    monkeypatch.setattr(parcels, "read", lambda *said: before.append(said[1]) or read(*said))
    append(path, lines(100, 200))
    send_once(config(server, tmp_path))
    assert before[0] != [b""]
    assert set(kinds(server)) == {"packed"}
    assert server.files() == {KEY: path.read_bytes()}


def test_a_server_without_a_reader_or_of_another_one_gets_bytes(server, tmp_path):
    for number, reader in enumerate([None, reader_number() + 1]):
        server.reader = reader
        append(log_path(tmp_path, job=f"job_{number}"), lines(0, 50))
        send_once(config(server, tmp_path))
    assert set(kinds(server)) == {"logs"}


def test_whoever_says_raw_sends_bytes(server, tmp_path):
    server.reader = reader_number()
    append(log_path(tmp_path), lines(0, 50))
    send_once(config(server, tmp_path, raw=True))
    assert set(kinds(server)) == {"logs"}


def test_lines_that_the_reader_stumbles_over_go_as_bytes(server, tmp_path, monkeypatch):
    server.reader = reader_number()
    monkeypatch.setattr(parcels, "read", lambda *_: 1 // 0)
    path = log_path(tmp_path)
    append(path, lines(0, 50))
    send_once(config(server, tmp_path))
    assert set(kinds(server)) == {"logs"}
    assert server.files() == {KEY: path.read_bytes()}


def test_a_file_that_was_begun_as_bytes_goes_on_as_bytes(server, tmp_path):
    append(log_path(tmp_path), lines(0, 50))
    server.reader = reader_number()
    send_once(config(server, tmp_path, raw=True))
    append(log_path(tmp_path), lines(50, 100))
    send_once(config(server, tmp_path))
    assert set(kinds(server)) == {"logs"}
