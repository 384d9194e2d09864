"""What somebody sees who has just begun, and knows runs by the names they have in W&B."""

import re

import pytest
from django.utils import timezone

from apps.accounts import store as accounts
from apps.accounts.services import verify_token
from apps.dashboard.connecting import ways
from apps.runs import store as runs
from apps.runs.records import Progress

KEY, NAME = "cm2k5u3v", "llm 7b, second try"


def run_named(name: str) -> None:
    """A run whose key `wandb` made up, before its first row."""
    run_id = runs.ensure_run(KEY)
    assert run_id is not None
    runs.open_attempt(run_id, 0, 1_795_981_200_000_000_000)
    runs.note_progress(run_id, 0, Progress(config={"wandb/name": name}), timezone.now())


def test_an_empty_board_shows_the_two_variables_of_wandb(operator, valkey):
    page = operator.get("/").content.decode()
    assert "export WANDB_BASE_URL=http" in page
    assert "Make a token" in page


def test_who_is_no_administrator_reads_how_to_get_a_token(reader, valkey):
    page = reader.get("/connect/").content.decode()
    assert "token cluster --scope ingest --wandb" in page
    assert "Make a token" not in page
    assert reader.post("/connect/token/").status_code == 403


def test_a_token_is_made_on_the_page_shown_once_and_audited(operator, valkey, client):
    page = operator.post("/connect/token/?after=0")
    (secret,) = set(re.findall(r"local-\w{40}", page.content.decode()))
    assert page["Cache-Control"] == "private, no-store"
    assert f"export WANDB_API_KEY={secret}" in page.content.decode()
    assert 'http-equiv="refresh"' not in page.content.decode()
    assert secret not in operator.get("/connect/").content.decode()
    assert verify_token(secret).scopes == {"ingest"}
    entry = accounts.audit_rows(1)[0]
    assert (entry.action, entry.actor) == ("token.created", "user:ada")
    assert entry.after["scopes"] == ["ingest"]


def test_the_commands_of_the_page_are_taken_as_they_stand(client, db, valkey, token):
    (post,) = [way.command for way in ways("http://h", token) if way.slug == "post"]
    bodies = re.findall(r"-d '(.*?)'", post)
    assert [
        client.post(
            f"/api/v1/runs/my-run/{door}",
            body,
            content_type=kind,
            headers={"Authorization": f"Bearer {token}"},
        ).status_code
        for door, kind, body in zip(
            ("metrics", "lines"), ("application/json", "application/x-ndjson"), bodies, strict=True
        )
    ] == [202, 202]


def test_the_page_waits_for_a_new_run_and_turns_into_its_deck(operator, valkey):
    old = runs.ensure_run("old")
    assert "Waiting for the first row" in operator.get("/connect/").content.decode()
    run_named(NAME)
    waiting = operator.get(f"/connect/waiting/?after={old}")
    assert f"{KEY}</strong></a> is here" in waiting.content.decode()
    runs.note_progress(
        runs.get_run(KEY).id, 0, Progress(first_step=1, last_step=1, last_ns=1), timezone.now()
    )
    arrived = operator.get(f"/connect/waiting/?after={old}")
    assert arrived["HX-Redirect"] == f"/runs/{KEY}/"
    assert operator.get(f"/connect/?after={old}")["Location"] == f"/runs/{KEY}/"


def test_the_last_runs_to_choose_from_lead_no_further(reader, valkey, monkeypatch):
    monkeypatch.setattr("apps.dashboard.views_chooser.PAGE", 2)
    ids = [runs.ensure_run(f"r{n}") for n in range(4)]
    first = reader.get("/logs/").content.decode()
    assert f"?before={ids[2]}" in first
    last = reader.get("/logs/", {"before": ids[2]}).content.decode()
    assert "/runs/r0/logs/" in last
    assert "Older runs" not in last


@pytest.mark.parametrize("path", ["/", f"/runs/{KEY}/"])
def test_a_run_is_shown_with_the_name_it_has_in_wandb(operator, valkey, path):
    run_named(NAME)
    assert operator.get(path).content.decode().split('id="facts"')[0].count(NAME) == 1


def test_a_name_that_is_the_key_is_not_said_twice(operator, valkey):
    run_named(KEY)
    assert '<div class="sub">' + KEY not in operator.get("/").content.decode()


def test_an_attempt_without_a_row_has_no_steps(operator, valkey):
    run_named(NAME)
    assert "none yet" in operator.get(f"/runs/{KEY}/").content.decode()
