"""Supervisors for the process tests."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from tests.stack import QUICK
from tests.system.processes import Foreground
from tests.wandb_client import NEW, VERSIONS, Client, python_of


@pytest.fixture
def start():
    """Starts supervisors that are ended after the test, whatever it finds."""
    with contextlib.ExitStack() as stack:

        def begin(home, **env):
            running = Foreground(home, **env)
            stack.callback(running.close)
            return running

        yield begin


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    """One running supervisor with stand-ins for the services, shared by a test file."""
    running = Foreground(tmp_path_factory.mktemp("home"))
    running.line("Lastgood is ready")
    yield running
    running.close()


@pytest.fixture(scope="session")
def wandbs(stack, tmp_path_factory):
    """version -> the real `wandb` client of it, set up for the shared stack."""
    key = stack.manage("token", "wandb", "--scope", "ingest", "--wandb", QUICK).strip()
    return {
        version: Client(
            tmp_path_factory.mktemp("client"), key, stack.url, version, python_of(version)
        )
        for version in VERSIONS
    }


@pytest.fixture(scope="session")
def wandb(wandbs):
    """The newest client."""
    return wandbs[NEW]


@pytest.fixture(scope="session")
def reader(stack, wandb, tmp_path_factory):
    """The newest client with the key of somebody who may read and nothing else."""
    key = stack.manage("token", "reader", "--scope", "read", "--wandb", QUICK).strip()
    return replace(wandb, home=tmp_path_factory.mktemp("reader"), key=key)
