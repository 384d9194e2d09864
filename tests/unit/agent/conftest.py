import pytest

from tests.agent_server import AgentServer


@pytest.fixture
def server():
    running = AgentServer()
    yield running
    running.close()
