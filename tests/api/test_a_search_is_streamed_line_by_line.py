"""/runs/KEY/logs/lines and its neighbours: what the script of the page reads."""

import gzip
import json

import numpy as np
import pytest

from apps.dashboard import log_download, log_feed
from apps.logs import search
from tests.log_pages import NODES, PATH, line, rows, stream, tell, told, words

ALL = [f"word{i:03d}" for i in range(6)]


def test_the_question_comes_first_and_the_end_last(operator, incident):
    told()
    said, *parts = stream(operator, q="level>=error", order="oldest")
    assert said["said"]["address"] == "?q=level%3E%3Derror&order=oldest"
    assert said["said"]["controls"] == {"level": "error", "rank": "", "node": ""}
    assert words(parts) == ["word002"]
    assert parts[-1]["end"] is True
    assert parts[-1]["next"] is None
    assert (parts[-1]["searched"], parts[-1]["total"]) == (1, 1)


def test_a_query_that_cannot_be_read_is_said_and_searches_nothing(operator, incident):
    (only,) = stream(operator, q="a /(/")
    assert only["said"]["fault"]["pieces"] == ["a ", "/(/", ""]


def test_hits_are_marked_and_a_stamp_stands_apart(operator, incident):
    told()
    (row,) = rows(stream(operator, q="word003"))
    assert row["stamp"] == "2026-11-29 12:00:03.000 "
    assert row["pieces"] == ["[INFO] [rank5] ", "word003", ""]
    assert (row["rank"], row["node"], row["level"]) == (5, NODES[1], "info")


def test_no_line_is_lost_or_doubled_while_lines_arrive(operator, incident):
    told(450)
    first = stream(operator, order="oldest")
    late = line(0, 0, "late000") + line(440, 0, "late440")
    tell(late, node="gpu-c03")
    second = stream(operator, after=first[-1]["next"])
    third = stream(operator, after=second[-1]["next"])
    seen = words([*first, *second, *third])
    assert len(seen) == len(set(seen)) == 451
    assert "late440" in seen


def test_both_directions_meet_at_a_permalink(operator, incident):
    told()
    at = rows(stream(operator, q="word003"))[0]["at"]
    before = words(stream(operator, **{"before": at, "with": "1"}))
    assert before == ALL[3::-1]
    assert words(stream(operator, after=at)) == ALL[4:]


def test_an_error_in_the_middle_is_a_line_of_its_own(operator, incident, monkeypatch):
    told()

    def broken(_):
        yield from ()
        raise log_feed.AppError("the bucket does not answer", hint="ask again")

    monkeypatch.setattr(search, "scan", broken)
    *_, last = stream(operator)
    assert last == {"error": "the bucket does not answer; ask again"}


def test_arrivals_name_late_chunks_too(operator, incident):
    told()
    mark = json.loads(operator.get(PATH + "news").content)["chunks"][-1][0]
    tell(line(1, 7, "late"), node="gpu-c03")
    chunks = json.loads(operator.get(PATH + "news", {"since": mark}).content)["chunks"]
    (fresh,) = [chunk for chunk in chunks if chunk[0] > mark]
    assert fresh[2] == 1
    assert words(stream(operator, since=fresh[1]))[:2] == ["word001", "late"]


def test_context_is_what_the_file_says(operator, incident):
    told()
    at = rows(stream(operator, q="word002"))[0]["at"]
    sent = {"at": at, "lines_before": 1, "lines_after": 5}
    assert words([json.loads(operator.get(PATH + "around", sent).content)]) == ALL[::2]
    assert operator.get(PATH + "around", {"at": "x"}).status_code == 400


def test_a_long_line_is_cut_in_the_list_and_given_whole(operator, incident):
    text = f"2026-11-29 12:00:01 {'x' * 30_000}"
    tell(f"{text}\n")
    (row,) = rows(stream(operator))
    assert row["cut"] == len(text) - 20_000
    found = json.loads(operator.get(PATH + "line", {"at": row["at"]}).content)
    assert (found["text"], found["original"]) == (text, "")
    assert operator.get(PATH + "line", {"at": "x"}).status_code == 400


def test_a_line_that_was_no_text_is_given_as_it_stood_in_its_file(operator, incident):
    tell(b"2026-11-29 12:00:02 a\xff\x1b[31mb\n")
    (row,) = rows(stream(operator))
    found = json.loads(operator.get(PATH + "line", {"at": row["at"]}).content)
    assert found["original"] == "2026-11-29 12:00:02 a\\xff\\x1b[31mb"


def test_a_line_leads_to_the_lines_of_its_pattern(operator, incident):
    told()
    tell(line(30, 0, "checkpoint of step 30 saved"), offset=5_000)
    (row,) = rows(stream(operator, q="checkpoint"))
    template = json.loads(operator.get(PATH + "line", {"at": row["at"]}).content)["template"]
    assert isinstance(template, str)  # a browser rounds numbers of this size
    (found,) = rows(stream(operator, q=f"template:{template}"))
    assert found["at"] == row["at"]


def test_the_pulse_counts_every_line(operator, incident):
    told()
    found = json.loads(operator.get(PATH + "pulse").content)
    total = dict(zip(found["severities"], np.sum(found["counts"], axis=0), strict=True))
    assert (total["info"], total["error"]) == (5, 1)
    assert [onset["label"] for onset in found["onsets"]] == [incident.label]


@pytest.mark.parametrize(("query", "ranks"), [("", [0, 5]), ("rank:5", [5]), ("node:x", [])])
def test_the_matrix_is_packed_for_the_ranks_that_are_asked_for(operator, incident, query, ranks):
    told()
    answer = operator.get(PATH + "matrix", {"q": query}, headers={"Accept-Encoding": "gzip"})
    body = gzip.decompress(answer.content)
    size = int(np.frombuffer(body, "<u4", 1)[0])
    head = json.loads(body[4 : 4 + size])
    assert np.frombuffer(body, "<i4", head["n"], 4 + size).tolist() == ranks
    cells = np.frombuffer(body, "u1", -1, 4 + size + 6 * head["n"])
    assert len(cells) == head["n"] * (len(head["edges"]) - 1)
    assert cells.max(initial=0) == {"": 40, "rank:5": 20}.get(query, 0)


def test_a_download_holds_every_line_and_its_number(operator, incident):
    told(450)
    answer = operator.get(PATH + "download", {"q": "word"})
    text = b"".join(answer).decode().splitlines()
    assert text[0].startswith("2026-11-29T12:00:00Z\t0\tgpu-a01\tINFO\t")
    assert (len(text), text[-1]) == (451, "# 450 lines")
    assert 'filename="boom-attempt-0.txt"' in answer["Content-Disposition"]
    lines = b"".join(operator.get(PATH + "download", {"format": "ndjson"})).splitlines()
    assert json.loads(lines[-1]) == {"kind": "end", "lines": 450, "cut": False}


def test_a_download_that_is_cut_says_so(operator, incident, monkeypatch):
    told()
    monkeypatch.setattr(log_download, "MAX_LINES", 4)
    monkeypatch.setattr(log_download, "PAGE", 2)
    text = b"".join(operator.get(PATH + "download")).decode().splitlines()
    assert len(text) == 5
    assert text[-1] == "# 4 lines; CUT HERE, more lines match: narrow the query or the time"
