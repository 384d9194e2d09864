"""One stack of processes for all fault tests; each test uses a run of its own."""

import pytest

from tests.faults.stack import Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory):
    running = Stack(tmp_path_factory.mktemp("stack"))
    running.start_web()
    running.start_writer()
    yield running
    running.stop()
