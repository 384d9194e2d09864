"""/runs/KEY/logs/ as a browser without JavaScript gets it."""

import re

import pytest
from django.urls import reverse

from apps.core.places import Places
from apps.dashboard import views_logs
from tests.log_pages import PATH, line, tell, told

DETAILS = ["lines", "line", "around?at=x", "news", "pulse", "matrix", "download", "ranks/"]


def shown(page):
    """The last words of the lines on a page, from the top down."""
    return re.findall(rb'<span class="tx">.*?(word\d+)(?:</mark>)?</span></li>', page.content)


def href(page, rel):
    """Where a link of the pager leads."""
    found = re.search(rf'rel="{rel}" href="([^"]+)"', page.content.decode())
    return found and found[1].replace("&amp;", "&")


def test_an_attempt_without_lines_says_so(operator, incident):
    page = operator.get(PATH)
    assert b"Attempt 0 has no line yet." in page.content
    assert b"<b>0</b> lines" in page.content


def test_a_run_that_never_started_says_what_to_do(operator, incident):
    from apps.runs import store as runs

    runs.ensure_run("early")
    assert b"how lines are sent" in operator.get("/runs/early/logs/").content


def test_a_run_that_is_not_there_is_a_plain_page(operator, db):
    for path in ["", *DETAILS]:
        assert operator.get(f"/runs/nobody/logs/{path}").status_code == 404


def test_strangers_see_nothing(client, incident):
    for path in ["", *DETAILS]:
        answer = client.get(PATH + path)
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/login/")


def test_who_may_only_read_sees_all(reader, incident):
    told()
    assert len(shown(reader.get(PATH))) == 6
    assert all(reader.get(PATH + path).status_code in (200, 400) for path in DETAILS)


def test_the_newest_lines_come_last_and_the_search_is_told(operator, incident):
    told()
    page = operator.get(PATH)
    assert shown(page) == [b"word%03d" % i for i in range(6)]
    assert "6 lines shown · 2 of 2 chunks searched" in page.content.decode()
    assert b'<abbr class="lv" title="error">E</abbr>' in page.content


def test_no_hit_says_what_was_asked_and_how_to_ask_for_more(operator, incident):
    told()
    page = operator.get(PATH, {"q": "nothing level>=error rank:0", "from": "2026-11-29T12:00Z"})
    text = page.content.decode()
    assert "<code>nothing level&gt;=error rank:0</code> in attempt 0" in text
    for words in ("Whole attempt", "All levels", "All ranks and hosts", "Without the query"):
        assert words in text


def test_a_query_that_cannot_be_read_points_at_the_word(operator, incident):
    text = operator.get(PATH, {"q": "boom rank:5-2"}).content.decode()
    assert "<code>boom rank:<mark>5-2</mark></code>" in text
    assert "runs backwards; write 2-5" in text.replace("&quot;", '"')


def test_markup_in_a_line_and_in_a_query_stays_text(operator, incident):
    tell(line(1, 0, "<script>alert(1)</script>"))
    page = operator.get(PATH, {"q": "<script>"})
    assert b"<mark>&lt;script&gt;</mark>alert(1)" in page.content
    assert b"<script>alert" not in page.content


@pytest.mark.parametrize("sent", [{"at": "x"}, {"after": "AAAA"}, {"before": "%%"}])
def test_a_place_that_this_server_did_not_make_is_refused_in_words(operator, incident, sent):
    page = operator.get(PATH, sent)
    assert page.status_code == 200
    assert b"the log cursor cannot be read" in page.content


def test_pages_follow_each_other_without_a_script(operator, incident):
    told(450)
    page = operator.get(PATH)
    seen = shown(page)
    while link := href(page, "prev"):
        page = operator.get(PATH + link)
        seen = shown(page) + seen
    assert len(seen) == 450
    assert len(re.findall(rb"data-at=", page.content)) <= 101


def test_a_permalink_shows_its_line_amid_its_neighbours(operator, incident):
    told(450)
    first = operator.get(PATH, {"q": "word007", "order": "oldest"})
    at = re.search(r'data-at="([^"]+)"', first.content.decode())[1]
    page = operator.get(PATH, {"at": at})
    assert page.content.count(b'aria-current="true"><a class="t"') == 1
    assert re.search(rb'aria-current="true"><a class="t".*?word007', page.content)
    assert shown(page)[:9] == [b"word%03d" % i for i in range(9)]
    assert href(page, "next")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"rank": "5, 6", "severity": "error"}, "?q=rank%3A5%2C6+level%3E%3Derror"),
        ({"q": "boom", "node": "gpu-a01", "had_node": ""}, "?q=boom+node%3Agpu-a01"),
        ({"q": "boom rank:5", "rank": "5", "had_rank": "5"}, "?q=boom+rank%3A5"),
        ({"q": "rank:5 boom", "rank": "", "had_rank": "5", "attempt": "0"}, "?q=boom&attempt=0"),
    ],
)
def test_fields_are_written_into_the_query(operator, incident, sent, expected):
    answer = operator.get(PATH, sent)
    assert (answer.status_code, answer["Location"]) == (302, expected)


def test_a_range_around_the_incident_is_one_click_away(operator, incident):
    text = operator.get(PATH).content.decode()
    assert f"around {incident.label}</a>" in text
    assert "order=oldest" in re.search(r'href="([^"]+)"[^>]*>around', text)[1]


def test_counts_are_always_in_view(operator, incident):
    from apps.ingest import store as ingest

    ingest.count(incident.run_id, {"gaps": 2, "invalid_utf8_bytes": 7, "lines": 1234})
    text = operator.get(PATH).content.decode()
    assert "<b>1,234</b> lines" in text
    assert re.search(r'<li class="tone-warn"[^>]*><b>2</b> gaps', text)
    assert "<b>7</b> undecodable bytes" in text
    assert "repeated" not in text


def test_ranks_are_a_table_too(operator, incident):
    told()
    text = operator.get(reverse("log_ranks", args=["boom"]), {"q": "rank:0"}).content.decode()
    assert "<h2>1 rank</h2>" in text
    assert "gpu-a01" in text
    assert "gpu-b02" not in text


def test_too_many_searches_at_once_are_told_to_come_back(operator, incident, monkeypatch):
    told()
    one = Places(1)
    monkeypatch.setattr(views_logs, "SEARCHES", one)
    give_back = one.take()
    answer = operator.get(PATH + "lines")
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    give_back()
    assert operator.get(PATH + "lines").status_code == 200
