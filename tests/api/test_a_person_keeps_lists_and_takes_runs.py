"""The run list: whose runs, saved views, and the last table while the database is away."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError
from django.test import Client, RequestFactory

from apps.accounts import people
from apps.accounts import store as accounts
from apps.accounts.records import SYSTEM
from apps.core.clock import now_ns
from apps.core.sql import patience, query
from apps.dashboard import board, board_asked, last_board, views_board
from apps.ingest.digest import digest
from apps.runs import saved_store
from apps.runs import store as runs
from apps.runs.models import Attempt
from apps.runs.records import Progress
from tests.factories import envelope, metric_body

QUERY = "show=running&project=llm"


@pytest.fixture
def orphan(db, valkey):
    """A run that trains for a day, of nobody, in a site that tells nobody."""
    run_id = runs.ensure_run("lost")
    digest([envelope("metrics", metric_body(dict.fromkeys(range(5), 2.0)), run_id=run_id)])
    Attempt.objects.filter(run_id=run_id).update(last_row_ns=now_ns())
    return runs.run_by_id(run_id)


def listed(client, query=""):
    return [row.run.key for row in client.get(f"/{query}").context["board"].rows]


def test_a_run_that_nobody_would_hear_of_is_marked_and_taken(operator, orphan):
    assert 'data-orphan="unheard"' in operator.get("/").content.decode()
    operator.post("/runs/lost/owner/", {"query": ""})
    page = operator.get("/").content.decode()
    assert "data-orphan" not in page
    assert "Give up" in page
    assert (accounts.audit_rows(1)[0].action, listed(operator, "?owner=ada")) == (
        "run.owned",
        ["lost"],
    )
    operator.post("/runs/lost/owner/", {"off": "1"})
    assert listed(operator, "?owner=ada") == []
    assert "data-orphan" in operator.get("/").content.decode()


def test_somebody_who_has_an_address_is_told_and_it_is_no_orphan(operator, orphan):
    User.objects.create_user("bob", email="bob@example.org")
    assert "data-orphan" not in operator.get("/").content.decode()


def test_a_reader_takes_nothing(reader, orphan):
    assert reader.post("/runs/lost/owner/").status_code == 403
    assert "Take it" not in reader.get("/").content.decode()


def test_taking_it_again_leaves_no_second_line(operator, orphan):
    [operator.post("/runs/lost/owner/") for _ in range(2)]
    assert [row.action for row in accounts.audit_rows(9)].count("run.owned") == 1


def test_what_somebody_else_took_meanwhile_stays_theirs(operator, orphan):
    """The page was older: its buttons were those of a run that nobody, or this person, had."""
    bob = User.objects.create_user("bob")
    runs.set_owner(orphan.id, "bob")
    page = operator.post("/runs/lost/owner/", follow=True).content.decode()
    assert "Not taken: lost: bob has it" in page
    operator.post("/runs/lost/owner/", {"off": "1"})
    assert runs.owner(orphan.id) == "bob"
    assert accounts.audit_rows(9) == []
    people.set_active(bob.pk, False, actor=SYSTEM)
    operator.post("/runs/lost/owner/")
    assert runs.owner(orphan.id) == "ada"


def test_a_run_of_somebody_who_is_shut_out_is_an_orphan_again(operator, orphan):
    bob = User.objects.create_user("bob")
    runs.set_owner(orphan.id, "bob")
    assert listed(operator, "?show=orphans") == []
    people.set_active(bob.pk, False, actor=SYSTEM)
    assert listed(operator, "?show=orphans") == ["lost"]
    assert "Take it" in operator.get("/").content.decode()


def test_the_runs_of_an_owner_are_those_of_the_list_they_are_asked_from(operator, orphan):
    runs.set_owner(orphan.id, "bob & co")
    page = operator.get("/?show=attention&project=-").content.decode()
    assert 'href="?show=attention&amp;project=-&amp;owner=bob%20%26%20co"' in page
    assert 'href="?owner=bob%20%26%20co"' in operator.get("/").content.decode()


def test_who_started_a_run_owns_it_until_somebody_takes_it(db):
    run_id = runs.ensure_run("r")
    runs.note_progress(run_id, 0, Progress(config={"wandb/user": "eve@lab"}), None)
    runs.note_progress(run_id, 0, Progress(config={"wandb/user": "mallory"}), None)
    (row,) = board.board(board.Asked(owner="eve@lab"), now_ns()).rows
    assert row.owner == "eve@lab"
    runs.set_owner(run_id, "ada")
    found = {who: board.board(board.Asked(owner=who), now_ns()).rows for who in ("eve@lab", "ada")}
    assert {who: len(rows) for who, rows in found.items()} == {"eve@lab": 0, "ada": 1}


def test_a_view_is_saved_shown_overwritten_and_removed(operator, orphan):
    operator.post("/views/", {"name": " night ", "query": f"{QUERY}&after=1-2&junk=1"})
    assert saved_store.views("ada") == [saved_store.View("night", QUERY)]
    page = operator.get(f"/?{QUERY}").content.decode()
    assert "Remove the view night" in page
    operator.post("/views/", {"name": "night", "query": "owner=-"})
    assert saved_store.views("ada") == [saved_store.View("night", "owner=-")]
    operator.post("/views/", {"name": "night", "query": "", "off": "1"})
    assert saved_store.views("ada") == []
    assert [row.action for row in accounts.audit_rows(3)] == [
        "view.removed",
        "view.saved",
        "view.saved",
    ]


def test_views_are_of_one_person_and_bounded(operator, orphan, monkeypatch):
    monkeypatch.setattr(saved_store, "MAX_VIEWS", 2)
    for name in ("a", "b", "c", " ", "x" * 61):
        operator.post("/views/", {"name": name, "query": "show=ended"})
    assert [view.name for view in saved_store.views("ada")] == ["a", "b"]
    assert saved_store.views("eve") == []


@pytest.fixture
def broken(monkeypatch):
    """The database gives no list any more."""

    def fail(*_):
        raise OperationalError("canceling statement due to statement timeout")

    return lambda: monkeypatch.setattr(views_board.board, "board", fail)


def test_the_last_table_is_shown_while_the_database_is_slow(operator, orphan, broken):
    operator.get("/")
    broken()
    operator.raise_request_exception = False
    for path, whole in (("/", True), ("/?show=attention&part=board", False)):
        answer = operator.get(path)
        page = answer.content.decode()
        assert (answer.status_code, "<html" in page) == (200, whole)
        assert "Database slow or away, data from " in page
        assert "/runs/lost/" in page
        assert "csrfmiddlewaretoken" not in page


def test_who_was_not_let_in_lately_sees_no_table(operator, client, orphan, broken, valkey):
    operator.get("/")
    broken()
    operator.raise_request_exception = False
    valkey.delete(*valkey.keys("board:session:*"))
    assert operator.get("/").status_code == 503
    operator.cookies.clear()
    assert operator.get("/").status_code == 302


def test_a_list_that_became_empty_is_kept_too(operator, orphan, broken, valkey):
    """The one of yesterday, with the run in it, was shown for a day."""
    operator.get("/?show=orphans")
    operator.post("/runs/lost/owner/")
    valkey.delete(*valkey.keys("board:made:*"))
    operator.get("/?show=orphans")
    broken()
    operator.raise_request_exception = False
    page = operator.get("/?show=orphans").content.decode()
    assert "Database slow or away, data from " in page
    assert "/runs/lost/" not in page


@pytest.fixture
def away(monkeypatch):
    """The database does not even say whose a session is."""

    def fail(*_):
        raise OperationalError("the connection is refused")

    return lambda: monkeypatch.setattr(SessionStore, "_get_session_from_db", fail)


def test_who_was_shut_out_meanwhile_sees_no_table(operator, orphan, away):
    bob, eve = (User.objects.create_user(name) for name in ("bob", "eve"))
    theirs = {person: Client(raise_request_exception=False) for person in (bob, eve)}
    for person, browser in theirs.items():
        browser.force_login(person)
        assert browser.get("/").status_code == 200
    operator.post(f"/settings/members/{bob.pk}/active/", {"active": "no"})
    away()
    assert [theirs[person].get("/").status_code for person in (bob, eve)] == [503, 200]


def test_another_password_ends_what_other_devices_were_let_in(orphan, away):
    bob = User.objects.create_user("bob")
    own, other = (Client(raise_request_exception=False) for _ in range(2))
    for browser in (own, other):
        browser.force_login(bob)
        browser.get("/")
    twice = dict.fromkeys(("new_password1", "new_password2"), "correct horse battery")
    assert own.post("/settings/password/", twice).status_code == 302
    own.get("/")
    away()
    assert [browser.get("/").status_code for browser in (own, other)] == [200, 503]


def test_a_session_that_was_signed_out_sees_no_table(operator, orphan, away):
    """Nor when a request that it had sent before is answered after."""
    bob = User.objects.create_user("bob")
    own, other = (Client(raise_request_exception=False) for _ in range(2))
    for browser in (own, other):
        browser.force_login(bob)
        browser.get("/")
    cookies = own.cookies.copy()
    sent_before = RequestFactory().get("/")
    sent_before.COOKIES = {name: one.value for name, one in cookies.items()}
    sent_before.user = bob
    assert own.post("/logout/").status_code == 302
    last_board.keep(sent_before, board_asked.read({}), {"board": board.board(board.Asked(), 0)})
    own.cookies = cookies
    away()
    assert [browser.get("/").status_code for browser in (own, other)] == [503, 200]


def test_a_statement_may_take_so_long(db):
    with pytest.raises(OperationalError, match="statement timeout"), patience(0.05):
        query("SELECT pg_sleep(5)")
