"""/api/v1/runs/<key>/evaluations."""

import pytest

from apps.accounts.services import make_token
from apps.checkpoints import evaluations
from apps.runs import store as runs
from tests.evaluation_samples import lighteval, lm_eval, written

pytestmark = pytest.mark.django_db
PATH = "runs/boom/evaluations"
BODY = {
    "suite": "mmlu-5shot",
    "step": 900,
    "scores": [{"task": "mmlu", "metric": "acc", "value": 0.61, "higher_is_better": True}],
}


def test_pushed_scores_are_read_by_step_and_a_repeat_is_no_second_result(ask, send, incident):
    first, again = send(PATH, BODY).json(), send(PATH, BODY).json()
    assert (first["new"], again["new"], first["scores"]) == (True, False, 1)
    (item,) = ask(PATH).json()["items"]
    assert (item["step"], [s["value"] for s in item["scores"]]) == (900, [0.61])
    (score,) = evaluations.of_run(runs.ensure_run("boom"))[900]
    assert (score.what, score.by) == (("mmlu-5shot", "mmlu", "acc"), "test")


def test_a_second_evaluation_takes_the_place_of_the_first_which_is_kept(ask, send, incident):
    send(PATH, BODY)
    send(PATH, BODY | {"scores": [BODY["scores"][0] | {"value": 0.7}]})
    (item,) = ask(PATH).json()["items"]
    assert [s["value"] for s in item["scores"]] == [0.7]
    attempt = item["scores"][0]["attempt"]
    kept = ask(f"runs/boom/checkpoints/{attempt}/900/evaluations").json()["items"]
    assert [r["scores"][0]["value"] for r in kept] == [0.7, 0.61]


def test_what_is_said_again_is_the_newest_again(ask, send, incident):
    for value in (0.61, 0.7, 0.61):
        send(PATH, BODY | {"scores": [BODY["scores"][0] | {"value": value}]})
    (item,) = ask(PATH).json()["items"]
    assert [s["value"] for s in item["scores"]] == [0.61]


@pytest.mark.parametrize(("file", "step", "scores"), [(lm_eval, 900, 6), (lighteval, 1200, 6)])
def test_a_result_file_is_pushed_as_it_is(ask, client, token, incident, file, step, scores):
    answer = client.post(
        f"/api/v1/{PATH}/file?suite=nightly",
        written(file()),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    ).json()
    assert (answer["step"], answer["scores"]) == (step, scores)
    assert [item["step"] for item in ask(PATH).json()["items"]] == [step]


def test_a_file_whose_path_names_no_step_asks_for_one(client, token, incident):
    body = written(lm_eval(config={"model_args": "pretrained=org/model"}))
    for query, status in (("", 400), ("&step=40", 200)):
        answer = client.post(
            f"/api/v1/{PATH}/file?suite=nightly{query}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == status
    assert answer.json()["step"] == 40


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"suite": "a b; rm"}, "suite"),
        ({"step": -1}, "step"),
        ({"attempt": -1}, "attempt"),
        ({"scores": []}, "scores"),
        ({"scores": BODY["scores"] * 2}, "scores[1]"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_written(ask, send, incident, change, where):
    answer = send(PATH, BODY | change)
    assert (answer.status_code, answer.json()["where"]) == (400, where)
    assert ask(PATH).json() == {"items": []}


def test_who_only_reads_may_not_push(send, incident):
    assert send(PATH, BODY, secret=make_token("eye", ["read"])).status_code == 403
