"""A service that cannot start ends the start: its last words are shown, nothing stays."""

from tests.system.processes import living


def test_the_last_words_of_the_failing_service_are_shown(tmp_path, start):
    running = start(tmp_path, STUB_WEB="raise SystemExit('no such table: runs')")

    running.line(r"^web ended with status 1; starting it again in 0\.5 s$")
    running.line(r"^web ended with status 1; starting it again in 1 s$")
    running.line(r"^web ended with status 1$")
    running.line("^no such table: runs$")

    assert running.wait() == 1
    assert not living(tmp_path)
    assert not (tmp_path / "run" / "servers.json").exists()
