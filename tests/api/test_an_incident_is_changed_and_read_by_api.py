"""Acts, notes, history, filters and export of incidents below /api/v1/."""

import io
import zipfile

import pytest
from django.contrib.auth.models import User

from apps.accounts import services as accounts
from apps.accounts.store import audit_rows
from apps.incidents import store
from apps.incidents.domain.incident import UNTIL_RESOLVED


@pytest.fixture
def act(send, incident):
    """POST to one act of the incident."""
    return lambda what, **body: send(f"incidents/{incident.id}/{what}", body)


def test_a_silence_has_an_end_and_a_reason(act):
    said = act("silence", seconds=3600, reason="planned restart").json()["silence"]
    assert (said["by"], said["reason"], said["until_resolved"]) == (
        "test",
        "planned restart",
        False,
    )
    assert said["until_ns"] > 0
    said = act("silence", until_resolved=True, reason="known").json()["silence"]
    assert (said["until_ns"], said["until_resolved"]) == (None, True)
    assert act("unsilence").json()["silence"] is None


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"reason": "x"}, "seconds"),
        ({"reason": "x", "seconds": 60, "until_resolved": True}, "seconds"),
        ({"reason": " ", "seconds": 60}, "reason"),
        ({"reason": "x" * 2_001, "seconds": 60}, "reason"),
        ({"reason": "x", "seconds": UNTIL_RESOLVED}, "seconds"),
        ({"seconds": 60}, "reason"),
    ],
)
def test_an_odd_silence_is_refused_and_says_where(act, incident, body, where):
    answer = act("silence", **body)
    assert answer.status_code == 422
    assert where in answer.json()["where"]
    assert store.get(incident.id).silenced_until_ns is None


def test_an_owner_is_somebody_who_may_log_in(act):
    User.objects.create_user("bob")
    assert act("assign", owner="bob").json()["owner"] == "bob"
    assert act("assign", owner="eve").status_code == 422
    assert act("assign", owner="").json()["owner"] == ""


def test_the_life_of_an_incident(act):
    assert act("acknowledge", reason="looking").json()["acknowledged_by"] == "test"
    done = act("mitigate", reason="rate halved").json()
    assert (done["state"], done["mitigated_at_ns"] > 0) == ("mitigated", True)
    assert act("mitigate").json()["mitigated_at_ns"] == done["mitigated_at_ns"]
    assert act("resolve", reason="well again").json()["state"] == "resolved"
    answer = act("mitigate")
    assert (answer.status_code, answer.json()["where"]) == (409, "incident")
    assert [row.action for row in audit_rows(3)] == [
        "incident.resolved",
        "incident.mitigated",
        "incident.acknowledged",
    ]


def test_a_note_is_written_once_and_stands_in_the_history(act, ask, incident):
    for _ in range(2):
        said = act("notes", text="rank 5 again", idempotency_key="k").json()["items"]
    assert [(line["what"], line["text"], line["actor"]) for line in said][-1] == (
        "note",
        "rank 5 again",
        "test",
    )
    assert ask(f"incidents/{incident.id}/history").json()["items"] == said
    assert [line["what"] for line in said].count("note") == 1


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("unresolved=true", True),
        ("state=mitigated", False),
        ("severity=page&kind=explosion&unowned=true", True),
        ("owner=ada", False),
        ("q=loss", True),
        ("q=zebra", False),
    ],
)
def test_incidents_are_asked_for(ask, incident, query, found):
    items = ask(f"incidents?{query}").json()["items"]
    assert [item["id"] for item in items] == [incident.id] * found


def test_the_export_is_the_one_of_the_page(ask, incident):
    answer = ask(f"incidents/{incident.id}/export.zip")
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert f"INC-{incident.id}/post-mortem.md" in archive.namelist()
    assert ask(f"incidents/{incident.id}/export.md").content.startswith(b"# INC-")
    assert ask(f"incidents/{incident.id}/export.pdf").status_code == 404


@pytest.mark.parametrize("what", ["silence", "unsilence", "assign", "mitigate", "notes"])
def test_a_token_that_may_only_read_changes_nothing(send, incident, what):
    secret = accounts.make_token("reader", ["read"])
    assert send(f"incidents/{incident.id}/{what}", {}, secret).status_code == 403
    assert store.get(incident.id).acts == 0
