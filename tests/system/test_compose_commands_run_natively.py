"""Each service's command and health check work, run here against embedded servers."""

import shutil

import pytest

from tests.system.compose import APPLICATION, Native
from tests.system.processes import eventually, free_port
from workers import health
from workers.embedded import Postgres, Valkey, probes, server

SOURCES = 'sources: [{{name: own, kind: prometheus, urls: ["http://127.0.0.1:{port}/metrics"]}}]'
"""Nothing answers there: a listener that asks in vain is well."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def addresses(home):
    """The two embedded servers, where the services expect those of their network."""
    postgres, valkey = Postgres(home, fast=True), Valkey(home)
    yield {"DATABASE_URL": postgres.start(), "REDIS_URL": valkey.start()}
    valkey.stop()
    postgres.stop()


@pytest.fixture(scope="module")
def application(home, addresses):
    """The application's services, started on a migrated database."""
    port = free_port()
    swaps = {"0.0.0.0": server.HOST, "8000": str(port), "8001": str(port + 1)}  # noqa: S104
    sources = home / "sources.yaml"
    sources.write_text(SOURCES.format(port=port))
    environment = {
        **addresses,
        "LASTGOOD_HOME": str(home),
        "PORT": str(port),
        "NODE_SOURCES": str(sources),
        "EVALUATION_PROGRAMS": "/bin/true",
    }
    with Native(home, environment, {**swaps, "/var/lib/lastgood": str(home)}) as native:
        native.start("migrate")
        assert native.running.pop("migrate").wait(120) == 0, native.output("migrate")
        for name in APPLICATION:
            native.start(name)
        yield native


@pytest.mark.parametrize("name", APPLICATION)
def test_the_health_check_of_a_service_passes(application, name):
    eventually(application.healthy(name), 120, f"{name} is healthy")


@pytest.mark.parametrize("what", [("web", "1"), ("events", "1"), ("beat", "/nowhere/schedule")])
def test_the_health_check_of_a_dead_service_fails(what, capsys):
    assert health.main([*what]) == 1
    assert capsys.readouterr().err.startswith(("does not answer", "/nowhere/schedule was not"))


def test_the_postgres_command_and_health_check_work(tmp_path):
    postgres, port = Postgres(tmp_path, fast=True), free_port()
    postgres.prepare()
    data = tmp_path / "postgres" / "data"
    here = [f"-cport={port}", "-clisten_addresses=127.0.0.1", "-cunix_socket_directories="]
    with Native(tmp_path, {"PGDATA": str(data)}, {"5432": str(port)}) as native:
        native.start("postgres", *here, way=postgres._way)

        eventually(native.healthy("postgres"), 60, "Postgres is healthy")


@pytest.fixture
def valkey_port(tmp_path):
    return server.port(tmp_path / "port")


@pytest.fixture
def valkey_alone(tmp_path, valkey_port):
    """The valkey service by its command from the file."""
    password = {"${VALKEY_PASSWORD:?set it in .env}": "pw"}
    swaps = {"6379": str(valkey_port), "/data": str(tmp_path), **password}
    with Native(tmp_path, {"REDISCLI_AUTH": "pw"}, swaps) as native:
        native.start("valkey")
        yield native


def test_the_valkey_command_works(valkey_alone, valkey_port):
    eventually(lambda: probes.valkey(valkey_port, "pw") is None, 30, "Valkey answers")


@pytest.mark.skipif(shutil.which("valkey-cli") is None, reason="valkey-cli is not installed here")
def test_the_valkey_health_check_works(valkey_alone):
    eventually(valkey_alone.healthy("valkey"), 30, "Valkey is healthy")
