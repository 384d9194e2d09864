"""A sender learns on the ingest page and from the API why a body was not written."""

import pytest
from django.contrib.auth.models import User

from apps.ingest.digest import digest
from apps.runs.store import ensure_run
from tests.factories import envelope


@pytest.fixture
def kept(db, valkey):
    body = b'{"rows":[{"step":-7}]}'
    digest([envelope("metrics", body, run_id=ensure_run("r"))])
    return body


def test_the_page_names_the_reason_and_the_place(client, kept):
    client.force_login(User.objects.create_superuser("ada"))
    page = client.get("/ingest/").content.decode()
    assert "-7 is not a step" in page
    assert "rows[0].step" in page


def test_the_api_says_the_same(client, kept, token):
    answer = client.get("/api/v1/ingest/quarantine", headers={"Authorization": f"Bearer {token}"})
    (item,) = answer.json()["items"]
    assert (item["reason"], item["where"]) == ("-7 is not a step", "rows[0].step")


def test_the_bytes_can_be_fetched(client, kept):
    client.force_login(User.objects.create_superuser("ada"))
    page = client.get("/ingest/").content.decode()
    link = page.split('href="/ingest/quarantine/')[1].split('"')[0]
    assert client.get(f"/ingest/quarantine/{link}").content == kept
