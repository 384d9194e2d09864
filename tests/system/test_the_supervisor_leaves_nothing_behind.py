"""However it ends, no process of it stays, not even a grandchild that ignores SIGTERM."""

import signal

import pytest

from tests.system.processes import eventually, living


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_no_process_is_left_after(number, status, tmp_path, start):
    running = start(tmp_path)
    running.line("Lastgood is ready")
    assert len(living(tmp_path)) > 8

    assert running.end(number) == status

    eventually(lambda: not living(tmp_path), 20, "all processes are gone")
    assert not (tmp_path / "run" / "servers.json").exists()


def test_a_second_ctrl_c_hurries_a_stuck_child(tmp_path, start):
    running = start(tmp_path, STUB_GRACE_S="600")
    running.line("Lastgood is ready")
    running.signal(signal.SIGINT)
    running.line("stopping")

    assert running.end(signal.SIGINT) == 0

    assert not living(tmp_path)
