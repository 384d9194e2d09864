"""docker-compose.yml: the services, their health, their data, their order."""

import re

import pytest

from tests.system.compose import APPLICATION, FILE, OPTIONAL, SERVERS, SERVICES
from tests.system.processes import ROOT


def test_the_services_are_the_processes_of_a_site():
    assert set(SERVICES) == {*APPLICATION, *SERVERS, "migrate"}


def test_what_only_some_sites_need_waits_for_its_profile():
    profiles = {name: one["profiles"] for name, one in SERVICES.items() if "profiles" in one}
    assert profiles == {name: [profile] for name, profile in OPTIONAL.items()}


@pytest.mark.parametrize("name", [*APPLICATION, *SERVERS])
def test_a_lasting_service_has_a_health_check_and_comes_back(name):
    check = SERVICES[name]["healthcheck"]
    assert set(check) == {"test", "interval", "timeout", "retries", "start_period"}
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", SERVICES)
def test_its_data_lies_in_a_named_volume(name):
    volumes = [volume.split(":")[0] for volume in SERVICES[name]["volumes"]]
    assert volumes
    assert set(volumes) <= set(FILE["volumes"])


@pytest.mark.parametrize("name", APPLICATION)
def test_a_service_starts_after_healthy_servers_and_the_migration(name):
    assert SERVICES[name]["depends_on"] == {
        "postgres": {"condition": "service_healthy"},
        "valkey": {"condition": "service_healthy"},
        "migrate": {"condition": "service_completed_successfully"},
    }


@pytest.mark.parametrize("name", [*APPLICATION, "migrate"])
def test_settings_come_from_the_env_file_and_addresses_from_here(name):
    assert SERVICES[name]["env_file"] == ".env"
    assert {"DATABASE_URL", "REDIS_URL", "LASTGOOD_HOME"} <= set(SERVICES[name]["environment"])


def test_no_secret_is_written_down():
    text = (ROOT / "docker-compose.yml").read_text()
    given = re.findall(r"(?:PASSWORD|AUTH|requirepass\"?,?)\W+(\S+)", text)
    assert [word for word in given if re.fullmatch(r"[A-Za-z0-9]{8,}", word)] == []


def test_postgres_gets_time_for_its_checkpoint():
    assert SERVICES["postgres"]["stop_grace_period"] == "90s"


def test_the_image_installs_the_locked_packages_and_runs_unprivileged():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert "RUN pip install --no-cache-dir --require-hashes -r requirements/base.txt" in lines
    assert "USER lastgood" in lines
