"""/projects/<project>/fault-classes/ and /api/v1/projects/<project>/fault-classes."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from apps.accounts.services import make_token
from apps.core.places import SEARCHES
from apps.ingest.store import analysis_to_do
from apps.logs import store
from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import SegmentMeta
from apps.logs.store.faultclasses import add_unread
from apps.logs.store.reclassing import ask_reclassing
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.own_classes import own

pytestmark = pytest.mark.django_db
PAGE, ONE = "/projects/llm/fault-classes/", "/projects/llm/fault-classes/class/"
API = "projects/llm/fault-classes"
HEAD = "2026-11-29 20:00:01.000 [INFO] [rank3] "
SAID = ("step 1 loss=2", "fabric lane 7 lost", "CUDA error: an illegal memory access")
SEEN_NS = 1_795_985_000_000_000_000


@pytest.fixture(autouse=True)
def run(db, valkey):
    """A run of the project with a few lines, one of them an error."""
    found = runs.ensure_run("boom")
    runs.open_attempt(found, 0, 0)
    runs.note_progress(found, 0, Progress(project="llm"), timezone.now())
    meta = SegmentMeta(
        source="3.log", channel="stderr", local_rank=1, node="gpu-1", offset=0, seen_ns=SEEN_NS
    )
    body = "".join(f"{HEAD}{text}\n" for text in SAID) + "RuntimeError: lane 7\n"
    store.write_lines(found, 0, "gpu-1", [parse_segment(meta, body.encode())], batch_id="b")
    return found


def form(act="save", version=0, **changes):
    return {
        "act": act, "version": version, "key": "lane_lost", "title": "A lane was lost",
        "patterns": "fabric lane \\d+ lost\r\n\r\n^RuntimeError: lane", "role": "cause",
        "layer": "network", "blame": "network", "severity": "error", "action": "call them",
        "on": "yes", "reason": "new cluster", **changes,
    }  # fmt: skip


def saved():
    return store.own_classes("llm")


def test_an_empty_project_says_what_a_class_is_for(operator):
    text = operator.get(PAGE).content.decode()
    assert "There is none. Add one" in text
    assert "CUDA out of memory (caching allocator)" in text
    assert "Fault classes</a>" in operator.get("/runs/boom/").content.decode()


def test_a_trial_marks_what_matches_and_saves_nothing(operator):
    pasted = f"{HEAD}all well\n{HEAD}RuntimeError: lane 7 of 8\n"
    text = operator.post(ONE, form("try", text=pasted, run="boom")).content.decode()
    assert "1 of 2 match" in text
    assert f"{HEAD}<mark>RuntimeError: lane</mark> 7 of 8" in text
    assert "2 match" in text
    assert "All 4 lines were searched" in text
    assert "<mark>fabric lane 7 lost</mark>" in text
    assert "rank 3 on gpu-1" in text
    assert "Without it: no class" in text
    assert "<code>py_exception</code>, built-in" in text
    assert "call them</textarea>" in text
    assert saved().version == 0


def test_a_trial_without_anything_to_try_says_so(operator):
    assert b"Paste lines or choose a run" in operator.post(ONE, form("try")).content


def test_what_is_saved_is_listed_with_its_revision_and_audited(operator, run):
    answer = operator.post(ONE, form())
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    (kept,) = saved().classes
    assert kept.patterns == ("fabric lane \\d+ lost", "^RuntimeError: lane")
    text = operator.get(PAGE).content.decode()
    assert "revision 1, by ada" in text
    assert "new cluster" in text
    assert "Attempts of the last hour are judged again: 1." in text
    assert analysis_to_do(run, 0, SEEN_NS) is not None
    assert b"fault_classes.changed" in operator.get("/audit/").content


def test_a_class_is_changed_moved_switched_and_removed(operator):
    operator.post(ONE, form())
    operator.post(ONE, form(version=1, key="other", title="Other"))
    operator.post(f"{ONE}?key=other", form(version=2, key="ignored", title="Another"))
    assert [one.title for one in saved().classes] == ["A lane was lost", "Another"]
    operator.post(PAGE, {"act": "up", "key": "other", "version": 3})
    operator.post(PAGE, {"act": "off", "key": "other", "version": 4})
    assert [(one.key, one.on) for one in saved().classes] == [
        ("other", False), ("lane_lost", True),
    ]  # fmt: skip
    assert 'tone-muted">off</span>' in operator.get(PAGE).content.decode()
    operator.post(PAGE, {"act": "remove", "key": "other", "version": 5})
    operator.post(PAGE, {"act": "skip", "key": "cuda_oom", "version": 6})
    assert "off here" in operator.get(PAGE).content.decode()
    operator.post(PAGE, {"act": "use", "key": "cuda_oom", "version": 7})
    assert (len(saved().classes), saved().off, saved().version) == (1, (), 8)


@pytest.mark.parametrize(
    ("act", "values", "told"),
    [
        ("try", {"patterns": "("}, "pattern 1: the regex cannot be read"),
        ("save", {"patterns": "("}, "pattern 1: the regex cannot be read"),
        ("try", {"patterns": "\\d+"}, "no plain text of 3 characters"),
        ("save", {"patterns": "step(.{0,30}){30}x"}, "is too large"),
        ("save", {"key": "Lane"}, "is no key"),
        ("save", {"key": "cuda_oom"}, "is used by a built-in class"),
        ("save", {"role": "culprit"}, "is no role"),
    ],
)
def test_what_cannot_be_used_is_told_and_stays_in_its_field(operator, act, values, told):
    answer = operator.post(ONE, form(act, text="step", **values))
    text = answer.content.decode()
    assert (answer.status_code, saved().version) == (422, 0)
    assert told in text
    assert "call them</textarea>" in text


def test_two_people_at_once_do_not_overwrite_each_other(operator):
    operator.post(ONE, form())
    answer = operator.post(ONE, form(key="other"))
    assert (answer.status_code, saved().version) == (409, 1)
    assert "changed these classes meanwhile" in answer.content.decode()
    assert operator.post(PAGE, {"act": "off", "key": "gone", "version": 1}).status_code == 404


def test_a_built_in_class_that_a_new_version_no_longer_has_holds_up_no_change(operator):
    store.add_revision("llm", own(off=("class_of_last_year",)))
    operator.post(PAGE, {"act": "off", "key": "lane_lost", "version": 1})
    assert (saved().version, saved().off) == (2, ())


def test_lines_that_were_not_read_are_told(operator, run):
    operator.post(ONE, form())
    add_unread(run, 1, 12_345)
    assert "12,345 lines were stored without these classes" in operator.get(PAGE).content.decode()


def test_an_operator_may_try_but_not_save(client):
    client.force_login(User.objects.create_user("olga", is_staff=True))
    assert b"Saving a class needs the scope" in client.get(ONE).content
    assert b"2 match" in client.post(ONE, form("try", run="boom")).content
    assert client.post(ONE, form()).status_code == 403
    assert client.post(PAGE, {"act": "skip", "key": "cuda_oom"}).status_code == 403
    assert saved().version == 0


def test_who_only_reads_sees_them(reader):
    assert reader.get(PAGE).status_code == 200
    assert b"disabled" in reader.get(ONE).content
    assert reader.post(ONE, form("try")).status_code == 403


def test_what_nobody_knows_is_not_there(operator):
    assert operator.get("/projects/nobody/fault-classes/").status_code == 404
    assert operator.get(f"{ONE}?key=nobody").status_code == 404


def test_the_api_shows_tries_and_sets_them(ask, send, client):
    key = {"Authorization": f"Bearer {make_token('boss', ['read', 'operate', 'admin'])}"}
    shown = ask(API).json()
    assert (shown["version"], shown["classes"]) == (0, [])
    assert {"key", "title", "action", "off"} <= set(shown["built_in"][0])

    body = {"patterns": ["lane \\d+"], "text": "x\nRuntimeError: lane 7", "run": "boom"}
    tried = send(f"{API}/try", body).json()
    assert (tried["text"]["matches"], tried["text"]["of"]) == (1, 2)
    assert tried["text"]["taken"][0]["found"] == "lane 7"
    assert tried["text"]["taken"][0]["without_it"] == "py_exception"
    assert (tried["run"]["matches"], tried["run"]["lines"], tried["run"]["of"]) == (2, 4, 4)
    assert tried["run"]["taken"][0]["rank"] in (3, None)

    one = {"key": "lane_lost", "title": "Lane", "patterns": ["fabric lane"]}
    put = {"content_type": "application/json", "headers": key}
    body = {"version": 0, "classes": [one], "off": ["cuda_oom"], "reason": "new"}
    made = client.put(f"/api/v1/{API}", body, **put).json()
    assert (made["version"], made["taxonomy"].split(".")[1]) == (1, "1")
    assert made["classes"][0]["severity"] == "error"
    assert [x["key"] for x in made["built_in"] if x["off"]] == ["cuda_oom"]
    assert client.put(f"/api/v1/{API}", body, **put).status_code == 409
    body = {"version": 1, "classes": [one | {"patterns": ["("]}]}
    assert client.put(f"/api/v1/{API}", body, **put).status_code == 422


def test_the_api_asks_for_scopes_and_a_run_of_the_project(client, send, token):
    body = {"version": 0, "classes": []}
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.put(f"/api/v1/{API}", body, "application/json", headers=headers)
    assert answer.status_code == 403
    runs.ensure_run("elsewhere")
    assert send(f"{API}/try", {"patterns": ["lane"], "run": "elsewhere"}).status_code == 404


def test_more_trials_than_there_are_places_are_told_to_wait(send):
    held = [release for _ in range(100) if (release := SEARCHES.take()) is not None]
    try:
        assert send(f"{API}/try", {"patterns": ["lane"], "text": "lane"}).status_code == 503
    finally:
        for release in held:
            release()


def test_it_is_said_how_many_stored_lines_have_the_classes(operator, ask, run):
    ask_reclassing(run, 0, "3.1", 0)
    assert "boom, attempt 0</a>: not begun" in operator.get(PAGE).content.decode()
    assert ask(API).json()["reclassing"] == [
        {"run": "boom", "attempt": 0, "done": 0, "total": None}
    ]
