"""Supervisors for the process tests."""

from __future__ import annotations

import pytest

from tests.system.processes import Foreground


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    """One running supervisor with stand-ins for the services, shared by a test file."""
    running = Foreground(tmp_path_factory.mktemp("home"))
    running.line("Lastgood is ready")
    yield running
    running.close()
