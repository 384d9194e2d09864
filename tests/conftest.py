"""Fixtures every test may use."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests import servers

# No test is timed: machines are slow at times. Examples differ from run to run, so that fewer of
# them in each still look everywhere.
settings.register_profile(
    "untimed", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


WAITING = ("browser", "tests/faults/", "tests/frameworks/", "tests/system/")
"""Tests of whole processes: they wait more than they compute."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each file runs in one worker; all browser tests in one, since their site is slow to start.

    All workers but one begin with what waits: the cores always have something to do, and no long
    file is left for the end. A scheduler of our own: the groups of pytest-xdist 3.8 are lost under
    pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return "browser" if file.startswith("tests/browser/") else file

        def _waits(self, node):
            work = self.assigned_work.get(node, {})
            return any(
                scope.startswith(WAITING) and not all(done.values()) for scope, done in work.items()
            )

        def _assign_work_unit(self, node):
            others = sum(self._waits(other) for other in self.nodes if other is not node)
            waits = others < len(self.nodes) - 1
            fit = (scope for scope in self.workqueue if scope.startswith(WAITING) == waits)
            if scope := next(fit, None):
                self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix):
    """pytest-django's hook before the test database is made: start the servers."""
    from django.db import connection

    from apps.core import database

    given = servers.addresses()
    database.use(given.database_url)
    if given.has_tables:
        connection.settings_dict["TEST"]["TEMPLATE"] = connection.settings_dict["NAME"]


@pytest.fixture
def valkey(settings):
    """A client of the real Valkey, emptied before the test."""
    from apps.core.valkey import client

    settings.REDIS_URL = servers.addresses().redis_url
    connection = client()
    connection.flushall()
    return connection


@pytest.fixture
def fresh_caches():
    """What the process remembers of tokens, runs and labels of earlier tests is forgotten."""
    from apps.accounts import services
    from apps.ingest import labelling, pushing, views

    services._verified.clear()
    views.run_id_of.cache_clear()
    labelling._tables.clear()
    pushing._noted.clear()
    pushing._next_note_s = 0.0


@pytest.fixture
def token(db, fresh_caches):
    """An API token that may do everything."""
    from apps.accounts.services import make_token

    return make_token("test", ["read", "ingest", "operate"])


@pytest.fixture(scope="session")
def stack(tmp_path_factory):
    """Lastgood as real processes, with servers of its own; tests use runs of their own."""
    from tests.stack import Stack

    running = Stack(tmp_path_factory.mktemp("stack"))
    try:
        running.start_web()
        running.start_writer()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def bucket_server(tmp_path_factory):
    """A real S3 server, for the session."""
    from tests.bucket_server import BucketServer

    server = BucketServer(tmp_path_factory.mktemp("bucket"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def bucket(bucket_server, settings, valkey):
    """The settings name the server's bucket, which is empty."""
    bucket_server.clear()
    for name, value in bucket_server.env.items():
        setattr(settings, name, value)
    return bucket_server


@pytest.fixture(scope="session")
def slurm_cluster(tmp_path_factory):
    """A real Slurm of two nodes. Missing programs: skipped, or failed where they must be there."""
    import os

    from tests import slurm_cluster

    if reason := slurm_cluster.missing():
        required = os.environ.get("LASTGOOD_REQUIRE_SLURM") == "1"
        (pytest.fail if required else pytest.skip)(reason)
    cluster = slurm_cluster.SlurmCluster(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def slurm(slurm_cluster, monkeypatch):
    """The cluster without a job; this process's commands go to it."""
    slurm_cluster.clear()
    for name in ("PATH", "SLURM_CONF"):
        monkeypatch.setenv(name, slurm_cluster.env[name])
    return slurm_cluster
