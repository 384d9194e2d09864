"""/api/v1/link-tests and /links/."""

import numpy as np
import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.accounts.services import make_token
from apps.nodes import links, links_store, store
from tests.link_samples import nccl_text, perftest, ring_csv

pytestmark = pytest.mark.django_db
HOSTS = [f"gpu-{at:02}" for at in range(8)]
SLOW = ring_csv(HOSTS, 391.0, slow=("gpu-03",))
WORDS = "gpu-03 is slow: 196 Gbit/s with 7 hosts, 50 % of the usual 391"


def events_of(host):
    return [(e.kind, e.severity, e.source) for e in store.events([host], 0, 2**62)]


@pytest.fixture
def post(client, token):
    def send(body, query="", secret=token):
        return client.post(
            f"/api/v1/link-tests{query}",
            body,
            content_type="text/plain",
            headers={"Authorization": f"Bearer {secret}"},
        )

    return send


def test_the_answer_names_the_slow_host_and_the_host_has_an_event(post, ask):
    answer = post(SLOW, "?name=rack+12")
    said = orjson.loads(answer.content)

    assert (answer.status_code, said["sentences"]) == (200, [WORDS])
    assert [one["host"] for one in said["slow_hosts"]] == ["gpu-03"]
    assert (said["hosts"], said["pairs"], said["quiet"]) == (8, 28, False)
    assert events_of("gpu-03") == [("host_links_slow", "warning", "link test")]
    assert events_of("gpu-04") == []
    assert orjson.loads(ask(f"link-tests/{said['number']}").content) == said
    assert orjson.loads(ask("link-tests").content)["items"] == [said]


def test_the_same_body_is_one_test_and_one_event(post):
    first, again = (orjson.loads(post(SLOW).content)["number"] for _ in range(2))
    assert first == again
    assert len(events_of("gpu-03")) == 1


def test_the_same_body_twice_at_once_is_one_test_too(post, monkeypatch):
    first = orjson.loads(post(SLOW).content)["number"]
    monkeypatch.setattr(links_store, "by_digest", lambda digest: None)
    again = post(SLOW)

    assert (again.status_code, orjson.loads(again.content)["number"]) == (200, first)
    assert len(events_of("gpu-03")) == 1


def test_both_ends_of_a_slow_link_have_an_event(post):
    lines = ring_csv(HOSTS, 391.0).replace("gpu-01,gpu-02,391.0", "gpu-01,gpu-02,100")
    post(lines)
    assert [e[0] for e in events_of("gpu-01") + events_of("gpu-02")] == ["link_slow"] * 2


def test_wrong_data_is_critical(post):
    said = orjson.loads(post(nccl_text(["gpu-01", "gpu-02"], 48.0, wrong=7)).content)
    assert said["wrong_data"] == [["gpu-01", "gpu-02"]]
    assert said["sentences"] == ["wrong data between gpu-01 and gpu-02: that is worse than slow"]
    assert events_of("gpu-02") == [("link_wrong_data", "critical", "link test")]


def test_one_output_is_sent_with_its_two_hosts(post):
    said = orjson.loads(post(perftest(None, 391.0), "?a=gpu-01&b=gpu-02").content)
    assert (said["pairs"], said["tool"], said["quiet"]) == (1, "perftest", True)


@pytest.mark.parametrize(
    ("body", "query", "status"),
    [("hello", "", 400), ("", "", 411), (SLOW, "?a=only", 400), (SLOW, "?time_ns=-1", 422),
     (SLOW, f"?time_ns={2**62}", 400), (SLOW, f"?name={'x' * 101}", 422)],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_words(post, body, query, status):
    answer = post(body, query)
    assert answer.status_code == status
    assert orjson.loads(answer.content)["error"]


def test_a_token_that_may_only_read_sends_nothing(post):
    assert post(SLOW, secret=make_token("r", ["read"])).status_code == 403


def test_a_person_uploads_a_file_and_reads_the_verdict(operator):
    file = SimpleUploadedFile("pairs.csv", SLOW.encode())
    sent = operator.post("/links/", {"file": file})
    page = operator.get(sent["Location"]).content.decode()

    assert WORDS in page
    assert "pairs.csv" in page
    assert 'scope="row">gpu-03' in page
    assert WORDS in operator.get("/links/").content.decode()
    assert b"links.tested" in operator.get("/audit/").content


def test_a_text_that_is_no_test_comes_back_with_the_reason(operator):
    answer = operator.post("/links/", {"text": "a,b\nx,y", "name": "mine"})
    text = answer.content.decode()
    assert answer.status_code == 400
    assert "no table of pairs" in text
    assert 'value="mine"' in text
    assert "choose a file" in operator.post("/links/", {}).content.decode()


def test_whoever_may_only_read_sees_tests_and_sends_none(reader):
    assert reader.post("/links/", {"text": SLOW}).status_code == 403
    assert "needs the scope" in reader.get("/links/").content.decode()
    assert reader.get("/links/77/").status_code == 404


def test_the_matrix_comes_packed(operator, post):
    number = orjson.loads(post(SLOW).content)["number"]
    body = operator.get(f"/links/{number}/matrix").content
    size = int.from_bytes(body[:4], "little")
    head = orjson.loads(body[4 : 4 + size])
    cells = np.frombuffer(body[4 + size :], np.uint16).reshape(8, 8)

    assert head["hosts"] == HOSTS
    assert (cells[0, 1], cells[0, 3], cells[2, 2]) == (1000, 500, 65_535)


def test_only_the_newest_tests_are_kept(post, monkeypatch):
    monkeypatch.setattr(links_store, "KEPT", 2)
    for at in range(4):
        post(ring_csv(HOSTS, 300.0 + at), f"?time_ns={10**18 + at}")
    assert [info.measured_ns for info in links_store.newest()] == [10**18 + 3, 10**18 + 2]


def test_a_large_test_is_bounded(operator, monkeypatch):
    monkeypatch.setattr(links, "MAX_BODY_BYTES", 100)
    file = SimpleUploadedFile("pairs.csv", SLOW.encode())
    assert operator.post("/links/", {"file": file}).status_code == 400
