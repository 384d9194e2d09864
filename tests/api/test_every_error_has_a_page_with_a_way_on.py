"""400, 403, 404, 413, 500, 503: words, a way on, both themes, nothing about the inside."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, ProgrammingError
from django.test import Client

from apps.dashboard import views_search

SECRET = "column secret_of_the_house does not exist"


@pytest.fixture
def site(operator, valkey):
    operator.raise_request_exception = False
    return operator


@pytest.fixture
def fail(monkeypatch):
    """The page of projects raises this."""

    def start(error):
        def rows(*args):
            raise error

        monkeypatch.setattr(views_search.runs, "projects", rows)

    return start


@pytest.fixture
def strict(db):
    """A browser whose forms are checked, as all are outside of tests."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("ada", email="", password=None))
    return client


def looks_right(answer, status):
    page = answer.content.decode()
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("text/html")
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    assert "js/theme.js" in page and "css/app.css" in page and "<h1>" in page
    assert "<style" not in page and "style=" not in page and "Traceback" not in page
    assert 'href="/"' in page
    return page


def test_a_form_without_its_token_leads_back_to_its_page(strict):
    back = "http://testserver/incidents/5/"
    answer = strict.post("/incidents/5/acknowledge/", headers={"Referer": back})
    page = looks_right(answer, 403)
    assert f'href="{back}"' in page
    assert "Nothing was changed" in page
    assert "CSRF" not in page


@pytest.mark.parametrize("back", ["https://evil.example/", "javascript:alert(1)", "", '"><script>'])
def test_it_leads_to_no_other_site(strict, back):
    answer = strict.post("/incidents/5/acknowledge/", headers={"Referer": back})
    page = looks_right(answer, 403)
    assert "evil.example" not in page and "javascript:" not in page and "<script>" not in page


def test_a_host_that_is_not_ours(site):
    looks_right(site.get("/", HTTP_HOST="evil.example"), 400)


def test_a_form_that_is_too_large(site, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    answer = site.post("/login/", {"reason": "x" * 1_000})
    looks_right(answer, 413)


def test_a_form_with_too_many_fields(site):
    answer = site.post("/login/", {f"field{n}": "x" for n in range(1_100)})
    looks_right(answer, 413)


def test_nothing_here(site):
    looks_right(site.get("/nowhere/"), 404)


def test_a_fault_tells_nothing_of_the_inside_but_how_the_log_calls_it(site, fail, caplog):
    fail(RuntimeError(SECRET))
    page = looks_right(site.get("/projects/"), 500)
    assert SECRET not in page
    (fault,) = re.findall(r"<code>(\w{8})</code>", page)
    assert f"fault {fault}: 'RuntimeError' of /projects/" in caplog.text


def test_a_database_that_is_away(site, fail):
    fail(OperationalError(SECRET))
    answer = site.get("/projects/")
    assert SECRET not in looks_right(answer, 503)
    assert answer["Retry-After"] == "5"


def test_a_statement_that_is_wrong_is_a_fault(site, fail):
    fail(ProgrammingError(SECRET))
    looks_right(site.get("/projects/"), 500)


def test_a_database_that_is_away_before_anybody_knows_who_asks(site, monkeypatch):
    """The page about it must not look up the person again."""
    from django.contrib.sessions.backends.db import SessionStore

    def load(self):
        raise OperationalError(SECRET)

    monkeypatch.setattr(SessionStore, "load", load)
    assert SECRET not in looks_right(site.get("/"), 503)


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("/api/v1/nowhere", {}, 404),
        ("/api/v1/runs", {"HTTP_HOST": "evil.example"}, 400),
    ],
)
def test_programs_get_the_one_shape(site, path, given, status):
    answer = site.get(path, **given)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "where", "hint", "docs"}
