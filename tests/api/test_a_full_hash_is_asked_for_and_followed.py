"""/runs/<key>/checkpoints/<attempt>/<step>/hash/ and the same below /api/v1."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.records import SYSTEM
from apps.checkpoints import hashes_store, hashing, roots, scanning
from apps.checkpoints.root_records import RootRule
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.runs import store as runs
from tests.ckpt_trees import answers_here, lay

pytestmark = pytest.mark.django_db
PAGE, PART = "/runs/r/checkpoints/0/100/", "/runs/r/checkpoints/0/100/hash/"
API = "runs/r/checkpoints/0/100/hash"


@pytest.fixture
def step(tmp_path, settings, valkey, monkeypatch):
    """A step that was looked at."""
    monkeypatch.setattr(scanning, "answers", answers_here)
    monkeypatch.setattr(hashing, "answers", answers_here)
    settings.CHECKPOINT_ROOTS = (places.parse(str(tmp_path)),)
    lay(tmp_path / "step-100")
    rule = RootRule(str(tmp_path), runs.ensure_run("r"), "", "", 300)
    scanning.scan(roots.add(rule, SYSTEM, now_ns()))
    return tmp_path / "step-100"


def text(page):
    return page.content.decode()


def test_it_is_asked_for_followed_and_told(operator, step):
    assert "Read every byte" in text(operator.get(PAGE))
    assert operator.post(PART, {"act": "ask"}).status_code == 302
    assert accounts.audit_rows(1)[0].action == "checkpoint.hash_asked"
    page = text(operator.get(PAGE))
    assert "waits" in page and "Cancel" in page
    reading = hashes_store.get(runs.ensure_run("r"), 0, 100, str(step))
    now = now_ns()
    hashes_store.claim(reading.run_id, 0, 100, reading.uri, now, now)
    hashes_store.note(reading, reading.bytes_total // 2, None, now)
    part = text(operator.get(PART))
    assert '<progress max="100" value="50"' in part
    assert "<html" not in part
    hashes_store.note(reading, 0, None, 1)
    hashing.read_content(reading.run_id, 0, 100, reading.uri)
    page = text(operator.get(PAGE))
    assert "read for the first time" in page
    assert "Read it again" in page


def test_it_is_cancelled_once(operator, step):
    operator.post(PART, {"act": "ask"})
    operator.post(PART, {"act": "cancel"})
    assert "Go on reading" in text(operator.get(PAGE))
    again = operator.post(PART, {"act": "cancel"}, follow=True)
    assert "it is not being read" in text(again)


def test_a_checkpoint_that_may_not_be_read_says_why(operator, step, settings):
    settings.CHECKPOINT_ROOTS = ()
    page = text(operator.get(PAGE))
    assert "CHECKPOINT_ROOTS" in page
    assert "Read every byte" not in page


def test_who_may_not_operate_reads_only(reader, step):
    assert "Read every byte" not in text(reader.get(PAGE))
    assert reader.post(PART, {"act": "ask"}).status_code == 403
    assert reader.get("/runs/r/checkpoints/0/7/hash/").status_code == 404


def test_the_api_does_the_same(ask, send, client, token, step):
    assert ask(API).json()["state"] == "none"
    assert send(API, {}).status_code == 202
    assert send(API, {}).status_code == 422
    hashing.read_content(runs.ensure_run("r"), 0, 100, str(step))
    told = ask(API).json()
    assert (told["state"], len(told["digest"]), told["asked_by"]) == ("done", 64, "test")
    gone = client.delete(f"/api/v1/{API}", headers={"Authorization": f"Bearer {token}"})
    assert gone.status_code == 422
    assert ask("runs/r/checkpoints/0/7/hash").status_code == 404


def test_the_roots_of_a_run_are_on_a_page_of_its_own(operator, step):
    page = text(operator.get("/runs/r/storage/"))
    assert str(step.parent) in page
    runs.ensure_run("other")
    other = text(operator.get("/runs/other/storage/"))
    assert "Nobody looks" in other
    assert "/storage/new/?run=other" in other
