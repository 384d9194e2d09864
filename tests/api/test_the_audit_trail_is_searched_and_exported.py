"""GET /audit/ and its files: filters in the address, page by page, everything in the file."""

import csv
import io
import json

import pytest

from apps.accounts import chain, services
from apps.accounts.models import AuditEntry
from apps.accounts.records import SYSTEM, Actor
from apps.dashboard import views_audit
from apps.runs.store import ensure_run

ADA = Actor("user", "ada", frozenset({"operate"}))


@pytest.fixture
def trail(db):
    run_id = ensure_run("llm-7b")
    services.audit(ADA, "token.created", "token 1", after={"name": "gpu"})
    services.audit(ADA, "incident.owned", "INC-4", run_id=run_id, before={"owner": ""},
                   after={"owner": "ada", "kind": "x"}, reason="my shift")  # fmt: skip
    services.audit(SYSTEM, "token.revoked", "=HYPERLINK(1)")


def actions(client, query):
    page = client.get(f"/audit/{query}")
    return [item["row"].action for item in page.context["rows"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["token.revoked", "incident.owned", "token.created"]),
        ("?actor=ada", ["incident.owned", "token.created"]),
        ("?actor=system:lastgood", ["token.revoked"]),
        ("?action=token.", ["token.revoked", "token.created"]),
        ("?object=inc-", ["incident.owned"]),
        ("?run=llm-7b&actor=ada", ["incident.owned"]),
        ("?until=2001-01-01", []),
        ("?since=2001-01-01&action=incident", ["incident.owned"]),
    ],
)
def test_the_address_says_what_is_shown(reader, trail, query, found):
    assert actions(reader, query) == found


@pytest.mark.parametrize(
    ("kind", "name"), [("stranger", "2001:db8::7"), ("token", "team:gpu"), ("token", "x")]
)
@pytest.mark.parametrize("said", ["{name}", "{kind}:{name}"])
def test_whoever_is_shown_is_found_by_what_is_shown(reader, kind, name, said):
    """Addresses and names of tokens hold colons."""
    services.audit(Actor(kind, name, frozenset()), "login.refused", "x")
    assert actions(reader, f"?actor={said.format(kind=kind, name=name)}") == ["login.refused"]


@pytest.mark.parametrize(
    ("query", "why"),
    [("?since=soon", "is not a time"), ("?run=nobody", "there is no run")],
)
def test_a_filter_that_is_none_is_said_and_finds_nothing(reader, trail, query, why):
    page = reader.get(f"/audit/{query}")
    assert (page.status_code, page.context["rows"]) == (400, [])
    assert why in page.content.decode()
    assert reader.get(f"/audit/export.csv{query}").status_code == 400


def test_older_entries_follow_with_the_same_filter(reader, trail, monkeypatch):
    monkeypatch.setattr(views_audit, "PAGE", 1)
    page = reader.get("/audit/?action=token.")
    assert f"action=token.&amp;before={page.context['next']}" in page.content.decode()
    assert actions(reader, f"?action=token.&before={page.context['next']}") == ["token.created"]


def test_a_change_is_shown_by_name(reader, trail):
    (item,) = reader.get("/audit/?run=llm-7b").context["rows"]
    assert [(c.name, c.before, c.after) for c in item["changes"]] == [
        ("owner", "nothing", "ada"),
        ("kind", None, "x"),
    ]


def test_the_file_holds_every_line_of_the_filter(reader, trail, monkeypatch):
    monkeypatch.setattr(views_audit, "EXPORT_PAGE", 1)
    answer = reader.get("/audit/export.json?actor=ada")
    found = json.loads(answer.getvalue())
    assert [entry["action"] for entry in found["entries"]] == ["incident.owned", "token.created"]
    assert found["entries"][0]["run"] == "llm-7b"
    assert found["chain"] == {"ok": True, "seals": 0, "broken_seals": [], "head": None}


def test_no_cell_of_a_table_is_a_formula(reader, trail):
    text = reader.get("/audit/export.csv").getvalue().decode()
    newest, *_ = list(csv.DictReader(io.StringIO(text)))
    assert (newest["action"], newest["object"]) == ("token.revoked", "'=HYPERLINK(1)")


def test_the_page_says_how_the_chain_stands(reader, trail):
    assert 'data-chain="none"' in reader.get("/audit/").content.decode()
    chain.keep(1_000)
    assert 'data-chain="ok"' in reader.get("/audit/").content.decode()
    AuditEntry.objects.filter(action="token.created").update(reason="other")
    chain.check(2_000)
    assert 'data-chain="broken"' in reader.get("/audit/").content.decode()


def test_an_unknown_format_is_not_there(reader, trail):
    assert reader.get("/audit/export.exe").status_code == 404
