"""/storage/ and /api/v1/storage/roots."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.records import SYSTEM
from apps.accounts.services import make_token
from apps.checkpoints import roots, roots_store, scanning
from apps.checkpoints.root_records import RootRule
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.core.sql import execute
from apps.runs import store as runs
from tests.ckpt_trees import answers_here, cut, lay

pytestmark = pytest.mark.django_db
API = "storage/roots"


@pytest.fixture
def disk(tmp_path, settings, valkey, monkeypatch):
    """A folder that may be looked at, of the run "r", with a whole and a damaged step."""
    monkeypatch.setattr(scanning, "answers", answers_here)
    settings.CHECKPOINT_ROOTS = (places.parse(str(tmp_path)),)
    runs.ensure_run("r")
    lay(tmp_path / "step-100")
    cut(lay(tmp_path / "step-200") / "__1_0.distcp")
    return tmp_path


@pytest.fixture
def admin():
    return make_token("admin", ["read", "admin", "operate"])


@pytest.fixture
def root(disk):
    return roots.add(RootRule(str(disk), runs.ensure_run("r"), "", "", 300), SYSTEM, now_ns())


def form(disk, **more):
    return {"uri": str(disk), "whose": "run", "run": "r", "every": "60", "enabled": "yes", **more}


def text(page):
    return page.content.decode()


def test_without_the_setting_nothing_may_be_looked_at(operator):
    page = text(operator.get("/storage/"))
    assert "No folder may be looked at" in page
    assert "Add a root" not in page


def test_a_root_is_added_on_the_page_and_audited(operator, disk):
    assert "No root yet" in text(operator.get("/storage/"))
    assert f"{disk}" in text(operator.get("/storage/new/?run=r"))
    answer = operator.post("/storage/new/", form(disk))
    (info,) = roots_store.roots()
    assert answer["Location"] == f"/storage/{info.id}/"
    assert (info.rule.uri, info.rule.every_s, info.changed_by) == (str(disk), 60, "ada")
    (audit,) = accounts.audit_rows(1)
    assert (audit.action, audit.after["run"]) == ("storage_root.added", "r")
    assert "Nobody has looked here yet" in text(operator.get(answer["Location"]))


@pytest.mark.parametrize(
    ("wrong", "said", "status"),
    [
        ({"uri": "/etc"}, "/etc may not be looked at", 422),
        ({"uri": "ckpt"}, "no absolute path", 400),
        ({"run": "nobody"}, "there is no run &quot;nobody&quot;", 400),
        ({"whose": "project", "pattern": "x"}, "says not once where the run stands", 400),
        ({"every": "1"}, "no interval between two looks", 400),
        ({"every": "x"}, "is no number of seconds", 400),
    ],
)
def test_a_wrong_form_is_refused_with_its_reason(operator, disk, wrong, said, status):
    answer = operator.post("/storage/new/", form(disk, **wrong))
    assert answer.status_code == status
    assert said in text(answer)
    assert roots_store.roots() == []


def test_the_same_root_twice_is_a_conflict(operator, disk, root):
    answer = operator.post("/storage/new/", form(disk))
    assert (answer.status_code, "there is such a root already" in text(answer)) == (409, True)


def test_a_look_shows_what_it_found(operator, disk, root):
    (disk / "out").symlink_to("/etc")
    (disk / "tmp-checkpoint-7").mkdir()
    (disk / "tmp-checkpoint-7" / "x").write_bytes(b"x")
    scanning.scan(root)
    page = text(operator.get(f"/storage/{root}/"))
    assert "out -&gt; /etc" in page
    assert "STAGING_DEBRIS" in page
    assert "local disk" in page
    listed = text(operator.get("/storage/"))
    assert "1 damaged" in listed
    assert "% used" in listed


def test_a_failed_look_says_why_and_what_stays(operator, disk, root, settings):
    settings.CHECKPOINT_ROOTS = ()
    scanning.scan(root)
    page = text(operator.get(f"/storage/{root}/"))
    assert "The last look failed" in page
    assert "stays as it was" in page


def test_a_root_that_nobody_looks_at_is_told(operator, disk, root):
    assert "Nobody looks at storage" not in text(operator.get("/storage/"))
    execute("UPDATE checkpoints_storageroot SET next_at_ns = %s", [now_ns() - 200 * 10**9])
    assert "Nobody looks at storage: 1 root waits" in text(operator.get("/storage/"))


def test_a_look_is_asked_for_and_a_root_removed(operator, disk, root):
    execute("UPDATE checkpoints_storageroot SET next_at_ns = %s", [now_ns() + 10**12])
    assert operator.post(f"/storage/{root}/look/").status_code == 302
    assert roots_store.due(now_ns()) == [root]
    assert operator.post(f"/storage/{root}/remove/").status_code == 302
    assert roots_store.roots() == []
    assert operator.get(f"/storage/{root}/").status_code == 404


def test_who_is_no_administrator_reads_and_changes_nothing(reader, disk, root):
    page = text(reader.get(f"/storage/{root}/"))
    assert "needs the scope “admin”" in page
    assert "Look now" not in page
    assert reader.post("/storage/new/", form(disk)).status_code == 403
    assert reader.post(f"/storage/{root}/", form(disk)).status_code == 403
    assert reader.post(f"/storage/{root}/look/").status_code == 403
    assert reader.post(f"/storage/{root}/remove/").status_code == 403
    assert len(roots_store.roots()) == 1


def test_the_api_does_the_same(ask, send, client, disk, admin, token):
    asked = {"uri": str(disk), "run": "r", "every_s": 60}
    assert send(API, asked).status_code == 403
    made = send(API, asked, secret=admin)
    assert made.status_code == 201
    number = made.json()["id"]
    assert (made.json()["run"], made.json()["last"]) == ("r", None)
    scanning.scan(number)
    seen = ask(f"{API}/{number}").json()
    assert (seen["last"]["steps"], seen["last"]["broken"]) == (2, 1)
    (room,) = ask(f"{API}/{number}/rooms").json()["items"]
    assert room["free_bytes"] == seen["last"]["free_bytes"]
    assert [one["id"] for one in ask(API).json()["items"]] == [number]
    assert send(f"{API}/{number}/look", {}, secret=token).status_code == 202
    headers = {"Authorization": f"Bearer {admin}"}
    put = {"content_type": "application/json", "headers": headers}
    change = {**asked, "every_s": 90, "version": 1}
    assert client.put(f"/api/v1/{API}/{number}", change, **put).json()["every_s"] == 90
    assert client.put(f"/api/v1/{API}/{number}", change, **put).status_code == 409
    assert client.delete(f"/api/v1/{API}/{number}", headers=headers).status_code == 204
    assert ask(f"{API}/{number}").status_code == 404


def test_the_api_refuses_what_is_not_allowed(send, disk, admin):
    answer = send(API, {"uri": "/etc", "run": "r"}, secret=admin)
    assert answer.status_code == 422
    assert "CHECKPOINT_ROOTS" in answer.json()["hint"]
    assert send(API, {"uri": str(disk), "run": "nobody"}, secret=admin).status_code == 404
    both = {"uri": str(disk), "run": "r", "pattern": "{run}"}
    assert send(API, both, secret=admin).status_code == 400
