"""/ingest/labels/ and /api/v1/projects/<project>/label-rules"""

import pytest

from apps.ingest import labels_store
from apps.ingest.label_rules import OwnRule
from tests.pushes import T0_NS, loki_json

pytestmark = pytest.mark.django_db
PAGE, API = "/ingest/labels/?project=team", "/api/v1/projects/team/label-rules"
RULE = {"label": "pod", "pattern": "{run}-worker-{rank}"}
LABELS = {"pod": "llm-worker-3", "cluster": "c"}


@pytest.fixture
def push(client, token, valkey):
    def send(labels=LABELS):
        return client.post(
            "/loki/api/v1/push",
            loki_json((labels, [[str(T0_NS), "x"]])),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}", "X-Lastgood-Project": "team"},
        ).status_code

    return send


@pytest.fixture
def put(client, token):
    def send(rules, version=0, path=API, method="put", secret=token):
        return getattr(client, method)(
            path,
            {"version": version, "rules": rules},
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )

    return send


def test_a_rule_gives_refused_lines_their_run(push, put, ask):
    assert push() == 400
    assert put([RULE]).status_code == 200
    assert push() == 204
    assert ask("projects/team/label-rules").json()["rules"] == [RULE]
    (refused,) = ask("ingest/refused").json()
    assert (refused["token"], refused["door"], refused["lines"]) == ("test", "loki", 1)


def test_rules_are_tried_on_the_labels_that_came(push, put):
    push()
    (read,) = put([RULE], path=f"{API}/preview", method="post").json()
    assert read["labels"] == LABELS
    assert (read["was"], read["told"]["run"], read["told"]["rank"]) == ("", "llm", 3)
    assert read["unknown"] == ["cluster"]
    assert labels_store.rules_of("team").version == 0


def test_who_was_overtaken_is_told(put):
    put([RULE])
    answer = put([], version=0)
    assert (answer.status_code, "meanwhile" in answer.json()["error"]) == (409, True)


@pytest.mark.parametrize("pattern", ["", "{rank", "{fish}", "worker", "{rank}{node}", "{run}{any}",
                                     "{rank}-{rank}", "{any}-{run}-{node}", "x" * 201])  # fmt: skip
def test_a_rule_that_cannot_be_read_is_refused_with_its_place(put, pattern):
    answer = put([RULE, {"label": "pod", "pattern": pattern}])
    assert answer.status_code in (400, 422)
    assert answer.json()["where"] == "rule 2"


def test_who_may_only_read_changes_nothing(put, client, reader):
    from apps.accounts.services import make_token

    assert put([RULE], secret=make_token("reader", ["read"])).status_code == 403
    assert reader.post(PAGE, {"act": "save", "label": "pod", "pattern": "{run}"}).status_code == 403
    assert labels_store.rules_of("team").rules == ()


def test_the_page_previews_and_saves(push, operator):
    push()
    form = {"label": ["pod", ""], "pattern": [RULE["pattern"], ""], "version": 0}
    text = operator.post(PAGE, {**form, "act": "preview"}).content.decode()
    assert "<strong>llm</strong>" in text
    assert labels_store.rules_of("team").version == 0
    answer = operator.post(PAGE, {**form, "act": "save"})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert labels_store.rules_of("team").rules == (OwnRule("pod", RULE["pattern"]),)
    assert b"label_rules.changed" in operator.get("/audit/").content


def test_ingest_health_shows_what_was_refused(push, operator):
    push()
    text = operator.get("/ingest/").content.decode()
    assert "nothing says which run" in text
    assert "/ingest/labels/" in text
