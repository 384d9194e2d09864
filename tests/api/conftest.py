"""What the tests of the read API share."""

from __future__ import annotations

import pytest

from tests import rollback_story


@pytest.fixture
def incident(db, valkey):
    """The open incident of the run "boom", exploded at step 1000."""
    return rollback_story.explode()


@pytest.fixture
def ask(client, token):
    """GET below /api/v1/ with a token."""

    def get(path, secret=token, **headers):
        return client.get(
            f"/api/v1/{path}", headers={"Authorization": f"Bearer {secret}", **headers}
        )

    return get


@pytest.fixture
def send(client, token):
    """POST of JSON below /api/v1/ with a token."""

    def post(path, body, secret=token):
        return client.post(
            f"/api/v1/{path}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )

    return post


@pytest.fixture
def operator(client, db):
    """A logged-in person who may operate."""
    from django.contrib.auth.models import User

    user = User.objects.create_superuser("ada", email="", password=None)
    client.force_login(user)
    return client


@pytest.fixture
def reader(client, db):
    """A logged-in person who may only read."""
    from django.contrib.auth.models import User

    client.force_login(User.objects.create_user("eve"))
    return client
