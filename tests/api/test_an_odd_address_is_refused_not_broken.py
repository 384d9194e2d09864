"""NUL, numbers beyond any column and digits of other scripts in addresses: refused, never a 500."""

import pytest

from apps.runs import store as runs
from apps.runs.models import Run

RUN = "runs/boom"


@pytest.mark.parametrize(
    "path",
    [
        "runs/a%00b",
        "runs/a%00b/series?keys=x",
        f"{RUN}/series?keys=%00",
        f"{RUN}/layers?prefix=a%00b",
        f"{RUN}/logs?node=%00",
        "incidents?run=a%00b",
        "incidents?state=%00",
    ],
)
def test_nothing_has_a_name_with_nul(ask, incident, path):
    assert ask(path).status_code == 404


def test_a_page_with_nul_is_not_there(operator):
    assert operator.get("/runs/a%00b/").status_code == 404


@pytest.mark.parametrize("attempt", [-1, 2**31, 2**63, 10**30])
@pytest.mark.parametrize("door", ["series?keys=x&", "layers?", "logs?", "ranks?"])
def test_an_attempt_beyond_any_run(ask, incident, door, attempt):
    answer = ask(f"{RUN}/{door}attempt={attempt}")
    assert answer.status_code == 422
    assert answer.json()["where"].endswith("attempt")


@pytest.mark.parametrize("name", ["from", "to"])
@pytest.mark.parametrize("step", [2**63, -(2**63) - 1, 10**30])
def test_a_step_beyond_any_training(ask, incident, name, step):
    answer = ask(f"{RUN}/series?keys=x&{name}={step}")
    assert (answer.status_code, answer.json()["where"]) == (400, f"query.{name}")


@pytest.mark.parametrize("rank", ["x", "-1", str(2**31), "9" * 30, "9" * 5000, "%C2%B2"])
def test_a_rank_that_is_none(ask, incident, rank):
    answer = ask(f"{RUN}/logs?ranks=0,{rank}")
    assert (answer.status_code, answer.json()["where"]) == (400, "query.ranks")


@pytest.mark.parametrize("page", ["deck.json", "rollback/"])
def test_an_incident_of_another_run(operator, incident, page):
    """Its window and its onset were drawn over the curves of this run."""
    runs.ensure_run("other")
    answers = [
        operator.get(f"/runs/{key}/{page}?incident={incident.id}").status_code
        for key in ("boom", "other")
    ]
    assert answers == [200, 404]


@pytest.mark.parametrize(
    "door", ["incidents/{}/acknowledge/", "runs/boom/stop/", "runs/boom/rollback/", "views/"]
)
def test_a_form_with_nul(operator, incident, door):
    form = dict.fromkeys(("key", "reason", "next", "name", "off"), "a\0b")
    answer = operator.post(f"/{door.format(incident.id)}", form)
    assert (answer.status_code, "Nothing was changed" in answer.content.decode()) == (400, True)


def test_a_body_with_nul(send, incident):
    answer = send(f"incidents/{incident.id}/acknowledge", {"reason": "a\0b"})
    assert (answer.status_code, answer.json()["error"]) == (400, "a text in the body holds NUL")


@pytest.mark.parametrize(
    "page",
    ["projects/", "settings/projects/", "settings/projects/a%0Ab/", "?project=a%0Ab", f"{RUN}/"],
)
def test_a_project_of_two_lines_has_pages_and_breaks_none(operator, incident, page):
    """Any sender names projects; the list of all of them could not be shown."""
    Run.objects.filter(key="boom").update(project="a\nb")
    assert operator.get(f"/{page}").status_code == 200
