"""The boxes of the incident list: each chosen one is changed and audited for itself."""

import html
import re

import pytest

from apps.accounts import store as accounts
from apps.core.clock import now_ns
from apps.dashboard import views_incident
from apps.incidents import services
from apps.incidents import store as incidents
from apps.runs import store as runs
from tests.incident_samples import PAGE, at, finding


@pytest.fixture
def three(db, valkey):
    """Ids of the incidents of three runs."""
    return [opened(key) for key in "abc"]


def opened(key):
    said = finding(f"explosion:{key}", "explosion", 1000, PAGE, title=f"Loss of {key}")
    return services.absorb(runs.ensure_run(key), 0, [said], at(9_000))[0].incident_id


@pytest.fixture
def do(operator):
    """Sends the form of the list for some incidents; the list that comes back."""

    def post(what, chosen, **fields):
        form = {"chosen": chosen, "query": "state=unresolved&owner=@nobody", **fields}
        answer = operator.post(f"/incidents/chosen/{what}/", form, follow=True)
        return answer.content.decode()

    return post


def ticked(page):
    return sorted(int(n) for n in re.findall(r'name="chosen" value="(\d+)"[^>]*checked', page))


def silenced(numbers):
    return [n for n in numbers if (incidents.get(n).silenced_until_ns or 0) > now_ns()]


def test_the_chosen_are_silenced_with_an_end_and_heard_again_by_one_click(do, three):
    first, second, _ = three
    page = do("silence", [first, second], reason="the switch is changed", **{"for": "4"})
    assert f"INC-{first}, INC-{second}: silenced." in page
    assert silenced(three) == ticked(page) == [first, second]
    said = [row for row in accounts.audit_rows(10) if row.action == "incident.silenced"]
    assert {row.object for row in said} == {f"incident {first}", f"incident {second}"}
    assert {(row.actor, row.reason) for row in said} == {("user:ada", "the switch is changed")}

    assert f"INC-{first}, INC-{second}: heard again." in do("unsilence", ticked(page))
    assert silenced(three) == []


def test_one_that_is_over_keeps_no_other_from_it(do, three):
    first, second, _ = three
    services.resolve(incidents.get(first).run_id, first, "manual", at(9_001))
    page = do("silence", [first, second, 987_654], reason="known", **{"for": "resolved"})
    assert f"INC-{second}: silenced." in page
    assert f"INC-{first}: not silenced, " in page
    assert silenced(three) == [second]


def test_a_silence_of_many_needs_a_reason_and_an_end_too(do, three):
    assert "a reason is missing" in do("silence", three, **{"for": "1"})
    assert "a silence ends in the future" in do("silence", three, reason="x", **{"for": "9"})
    assert silenced(three) == []


def test_the_chosen_are_acknowledged_and_get_an_owner(do, three):
    do("acknowledge", three[:2])
    assert [incidents.get(n).owner for n in three] == ["ada", "ada", ""]
    assert f"INC-{three[0]}: acknowledged already." in do("acknowledge", three[:1])


@pytest.mark.parametrize("chosen", [[], ["x", "-1", "²"]])
def test_nothing_chosen_is_said(do, three, chosen):
    assert "No incident is chosen" in do("acknowledge", chosen)


def test_one_of_a_later_page_stays_in_sight(operator, do, three, monkeypatch):
    monkeypatch.setattr(views_incident, "PAGE", 1)
    query = re.search(r'href="\?([^"]*after=[^"]*)"', operator.get("/incidents/").content.decode())[
        1
    ]
    later = operator.get(f"/incidents/?{html.unescape(query)}").content.decode()
    (shown,) = re.findall(r'name="chosen" value="(\d+)"', later)
    sent = re.search(r'name="query" value="([^"]*)"', later)[1]
    page = do("silence", [shown], reason="known", query=html.unescape(sent), **{"for": "1"})
    assert ticked(page) == silenced(three) == [int(shown)]


def test_enter_in_the_reason_presses_a_button_of_the_silence(operator, three):
    """A browser presses the first button of the form."""
    page = operator.get("/incidents/").content.decode().partition('<form id="chosen"')[2]
    first = re.search(r'<button[^>]*type="submit"[^>]*>', page)[0]
    assert 'name="for" value="1"' in first and "formaction" not in first


def test_who_may_only_read_is_offered_no_boxes(reader, three):
    page = reader.get("/incidents/").content.decode()
    assert f"INC-{three[0]}" in page
    assert 'name="chosen"' not in page
