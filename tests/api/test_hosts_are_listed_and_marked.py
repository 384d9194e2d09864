"""/nodes/ and /api/v1/nodes: the fleet, one host, what people say of it."""

import pytest

from apps.accounts import store as accounts
from apps.core.clock import now_ns
from apps.nodes import store as nodes
from tests.host_samples import died, started, suspect, xid
from tests.incident_samples import SECOND

HOUR = 3_600 * SECOND


@pytest.fixture
def fleet(db, valkey):
    """gpu-b02 fell out of attempt 0 of "boom", and gpu-s01 came in for it."""
    now = now_ns()
    began = now - 3 * HOUR
    run_id = started("boom", 0, {"gpu-a01": [0, 1], "gpu-b02": [2, 3]}, began)
    nodes.record([xid(began + HOUR)])
    died(run_id, suspect(rank=3), now_ns=now, onset_time_ns=began + HOUR)
    started("boom", 1, {"gpu-a01": [0, 1], "gpu-s01": [2, 3]}, began + 2 * HOUR)
    return run_id


def test_the_list_begins_with_the_host_that_is_to_blame(ask, fleet):
    items = ask("nodes").json()["items"]
    assert [(one["name"], one["state"]) for one in items] == [
        ("gpu-b02", "confirmed"),
        ("gpu-a01", "ok"),
        ("gpu-s01", "ok"),
    ]
    first = items[0]
    assert first["why"] == "blamed in 1 of 1 attempt (1 of 1 run) in 30 d"
    assert first["lemon_score"] == pytest.approx(0.9, abs=0.01)
    assert [(e["kind"], e["source"]) for e in first["events"]] == [("xid_79", "kernel")]
    assert first["incidents"][0]["confirmed_by"] == "xid_79 on 0000:ae:00: off the bus"
    assert items[1]["why"] == "not blamed in 2 attempts in 30 d"


def test_the_list_is_paged_and_filtered(ask, fleet):
    first = ask("nodes?limit=2").json()
    rest = ask(f"nodes?limit=2&after={first['next']}").json()
    assert [one["name"] for one in first["items"]] == ["gpu-b02", "gpu-a01"]
    assert ([one["name"] for one in rest["items"]], rest["next"]) == (["gpu-s01"], None)
    assert [o["name"] for o in ask("nodes?state=ok&q=S0").json()["items"]] == ["gpu-s01"]
    assert [o["name"] for o in ask("nodes?run=boom").json()["items"]] == ["gpu-a01", "gpu-s01"]
    assert [o["name"] for o in ask("nodes?group=gpu-b").json()["items"]] == ["gpu-b02"]


@pytest.mark.parametrize(
    ("query", "status"), [("state=broken", 422), ("after=x", 422), ("run=nobody", 404)]
)
def test_what_cannot_be_asked_for_is_refused(ask, fleet, query, status):
    assert ask(f"nodes?{query}").status_code == status


def test_a_host_tells_its_story_and_who_came_in_for_it(ask, fleet):
    told = ask("nodes/gpu-b02").json()
    assert [(line["what"], line["title"].partition(":")[0]) for line in told["story"]] == [
        ("state", "ok → confirmed"),
        ("event", "xid_79 on 0000"),
        ("incident", told["story"][2]["title"].partition(":")[0]),
        ("attempt", "boom, attempt 0"),
    ]
    assert told["story"][2]["title"].startswith("INC-")
    assert told["story"][3]["text"] == (
        "2 ranks: 2-3; GPU-gpu-b02-0, GPU-gpu-b02-1; "
        "ranks 2-3 went to gpu-s01 in attempt 1, which it is not in"
    )
    assert told["commands"]["exclude"] == "--exclude=gpu-b02"
    assert ask("nodes/nobody").status_code == 404


def test_a_program_says_where_a_host_stands_and_is_audited(ask, send, fleet):
    body = {"state": "replaced", "reason": "new baseboard", "replaced_by": "gpu-s01"}
    answer = send("nodes/gpu-b02/state", body)
    assert (answer.status_code, answer.json()["state"]) == (200, "replaced")
    assert answer.json()["replaced_by"] == "gpu-s01"
    again = send("nodes/gpu-b02/state", body)
    assert (again.status_code, again.json()["error"]) == (
        409, "gpu-b02 is replaced; it cannot become replaced",
    )  # fmt: skip
    row = accounts.audit_rows(1)[0]
    assert (row.action, row.object, row.reason) == (
        "host.replaced", "host gpu-b02", "new baseboard",
    )  # fmt: skip
    assert row.after == {"state": "replaced", "replaced_by": "gpu-s01"}
    assert ask("nodes/gpu-b02").json()["events"] == []


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("gpu-b02", {"state": "ok", "reason": "  "}, 422),
        ("gpu-b02", {"state": "fine", "reason": "x"}, 422),
        ("gpu-b02", {"state": "ok", "reason": "x" * 2_001}, 422),
        ("nobody", {"state": "ok", "reason": "x"}, 404),
    ],
)
def test_what_cannot_be_said_is_refused(send, fleet, name, body, status):
    assert send(f"nodes/{name}/state", body).status_code == status


def test_a_reader_may_say_nothing(client, fleet):
    from apps.accounts.services import make_token

    answer = client.post(
        "/api/v1/nodes/gpu-b02/state",
        {"state": "ok", "reason": "x"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {make_token('r', ['read'])}"},
    )
    assert answer.status_code == 403


def test_racks_are_said_and_become_groups(ask, send, fleet):
    answer = send("nodes/racks", {"racks": {"gpu-a01": "row 4", "nobody": "row 9"}})
    assert answer.json() == {"changed": 1}
    assert [o["name"] for o in ask("nodes?group=row+4").json()["items"]] == ["gpu-a01"]
    assert send("nodes/racks", {"racks": {"gpu-a01": "x" * 300}}).status_code == 422


def test_the_page_shows_who_is_to_blame_first(operator, fleet):
    text = operator.get("/nodes/").content.decode()
    assert "Blamed by open incidents" in text
    assert text.index("data-item>gpu-b02") < text.index("data-item>gpu-a01")
    assert "blamed in 1 of 1 attempt" in text.lower()
    assert "confirmed by xid_79" in text


def test_a_host_has_a_page_with_commands_and_its_story(operator, fleet):
    text = operator.get("/nodes/gpu-b02/").content.decode()
    assert "scontrol update NodeName=gpu-b02 State=DRAIN" in text
    assert "kubectl cordon gpu-b02" in text
    assert "went to gpu-s01 in attempt 1" in text


def test_a_person_marks_a_host_on_its_page(operator, fleet):
    form = {"state": "cordoned", "reason": "drained by hand"}
    answer = operator.post("/nodes/gpu-b02/state/", form)
    assert (answer.status_code, answer["Location"]) == (302, "/nodes/gpu-b02/")
    text = operator.get("/nodes/gpu-b02/").content.decode()
    assert "confirmed → cordoned by ada" in text
    assert operator.get("/nodes/gpu-b02/state/").status_code == 405


def test_a_form_without_a_reason_keeps_what_was_typed(operator, fleet):
    form = {"state": "replaced", "reason": "", "replaced_by": "gpu-s01"}
    answer = operator.post("/nodes/gpu-b02/state/", form)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "a reason is missing" in text
    assert 'value="gpu-s01"' in text
    assert '<option value="replaced" selected>' in text


def test_a_reader_is_told_who_may_mark(reader, fleet):
    assert b"ask for the role" in reader.get("/nodes/gpu-b02/").content
    form = {"state": "ok", "reason": "x"}
    assert reader.post("/nodes/gpu-b02/state/", form).status_code == 403


def test_commands_are_prepared_for_chosen_hosts(operator, fleet):
    page = operator.get("/nodes/-/prepare/?host=gpu-b02&host=gpu-a01&host=nobody&reason=it's+hot")
    text = page.content.decode()
    assert "NodeName=gpu-b02,gpu-a01 State=DRAIN" in text
    assert "--exclude=gpu-b02,gpu-a01" in text
    assert "Not known: nobody" in text
    assert b"No host was chosen" in operator.get("/nodes/-/prepare/").content


def test_attempts_say_who_replaced_whom(operator, fleet):
    text = operator.get("/runs/boom/attempts/").content.decode()
    assert 'replaced <a href="/nodes/gpu-b02/">gpu-b02</a> (ranks 2-3)' in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?q=nothing", "No host is like this"),
        ("?state=cordoned", "No host is cordoned"),
        ("?run=nobody", "There is no run called nobody"),
        ("?after=9~0.0~zzz", "That was the last one"),
    ],
)
def test_an_empty_list_says_why(operator, fleet, query, words):
    assert words in operator.get(f"/nodes/{query}").content.decode()


def test_without_hosts_the_page_says_where_they_come_from(operator, valkey):
    assert "Hosts come by themselves" in operator.get("/nodes/").content.decode()
