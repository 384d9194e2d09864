"""/runs/<key>/checkpoints/ and /api/v1/runs/<key>/checkpoints."""

import pytest

from apps.accounts.services import make_token
from apps.checkpoints import marks, services
from apps.checkpoints.domain.codes import Level
from apps.checkpoints.domain.inventory import Stamp
from apps.checkpoints.domain.spoken import said
from apps.checkpoints.records import Look, Observation
from apps.checkpoints.saying import say
from tests.incident_samples import at
from tests.rollback_story import save, start

pytestmark = pytest.mark.django_db
PAGE, API = "/runs/boom/checkpoints/", "runs/boom/checkpoints"
ONE = f"{PAGE}0/900/"


@pytest.fixture
def looked_at(incident):
    """Step 900 was looked at in two places, step 750 is gone, step 1060 was only printed."""
    run_id, look = incident.run_id, Look(at(1_200), 512, 4_096, ("the bytes of 12 tensors",))
    files = {".metadata": Stamp(10, at(900)), "__0_0.distcp": Stamp(100, at(900))}
    for uri in ("/data/boom/step-900", "s3://bucket/boom/step-900"):
        seen = Observation(900, uri, at(900), "dcp", Level.HEADERS_VERIFIED, files, look, (), 0)
        services.observe(run_id, seen)
    services.deleted(run_id, (0, 750), why="HF Trainer deleted it", at_ns=at(1_000))
    say(run_id, 0, said([(at(1_060), "Saved checkpoint at step 1060")]))
    return run_id


def text(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_says_what_each_is_worth(reader, looked_at):
    page = text(reader, PAGE)
    assert 'href="/runs/boom/checkpoints/0/900/"' in page
    assert "read 512 B of 4.0 KiB" in page and "Said, not seen" in page
    assert "s3://bucket/boom/step-900" in page
    assert "checkpoints/0/750/" not in page
    gone = text(reader, f"{PAGE}?show=gone")
    assert "checkpoints/0/750/" in gone and "HF Trainer deleted it" in gone
    assert "No checkpoint of this run is like that" in text(reader, f"{PAGE}?show=kept")
    fresh = text(reader, f"{PAGE}?part=list&show=gone")
    assert "checkpoints/0/750/" in fresh and "<html" not in fresh


def test_the_list_costs_a_fixed_number_of_statements(
    reader, looked_at, django_assert_max_num_queries
):
    save(looked_at, 0, *range(10, 90, 10))
    with django_assert_max_num_queries(15):
        text(reader, f"{PAGE}?show=nonsense&page=99")


def test_too_few_complete_ones_are_said_first(reader):
    run_id = start(0)
    assert "No checkpoint of this run is known yet" in text(reader, PAGE)
    save(run_id, 0, 100)
    assert "Only one complete checkpoint: step 100" in text(reader, PAGE)
    services.deleted(run_id, (0, 100), why="gone", at_ns=at(400))
    assert "No complete checkpoint" in text(reader, PAGE)


def test_one_checkpoint_tells_what_was_not_checked(reader, looked_at):
    page = text(reader, ONE)
    assert "the bytes of 12 tensors" in page and "512 B of 4.0 KiB were read" in page
    assert "Nothing is wrong with what was checked" in page
    assert "__0_0.distcp" in page and "s3://bucket/boom/step-900" in page
    assert "Pinning needs the scope" in page and "Pin step" not in page
    assert "nobody has listed its files" in text(reader, f"{PAGE}0/1060/")
    assert reader.get(f"{PAGE}0/7/").status_code == 404
    assert reader.get(f"{PAGE}0/{2**70}/").status_code == 404


def test_a_person_pins_names_and_lets_go(operator, looked_at):
    pin = {"act": "pin", "reason": "table 2 of the paper"}
    assert operator.post(f"{ONE}marks/", pin).status_code == 302
    assert operator.post(f"{ONE}marks/", {"act": "tag", "name": "best <so> far"}).status_code == 302
    page = text(operator, ONE)
    assert "table 2 of the paper" in page and "best &lt;so&gt; far" in page
    assert "best &lt;so&gt; far" in text(operator, f"{PAGE}?show=kept")
    for form in ({"act": "unpin"}, {"act": "untag", "name": "best <so> far"}):
        assert operator.post(f"{ONE}marks/", form).status_code == 302
    assert marks.protections(looked_at, at(0)) == {}


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"act": "pin", "reason": " "}, "the reason is missing"),
        ({"act": "tag", "name": "x" * 101}, "the name is too long"),
        ({"act": "explode"}, "&quot;explode&quot; is nothing to do with a checkpoint"),
    ],
)
def test_a_form_that_says_too_little_is_given_back(operator, looked_at, form, told):
    answer = operator.post(f"{ONE}marks/", form)
    assert answer.status_code in (400, 422)
    assert told in answer.content.decode()


def test_who_may_only_read_keeps_nothing(reader, looked_at):
    assert reader.post(f"{ONE}marks/", {"act": "pin", "reason": "x"}).status_code == 403
    assert reader.get(f"{ONE}marks/").status_code == 405


def test_the_api_tells_the_same(ask, looked_at):
    worth = {c["step"]: c["worth"] for c in ask(API).json()["items"]}
    assert (worth[750], worth[900], worth[1060]) == ("deleted", "complete", "unseen")
    assert [c["step"] for c in ask(f"{API}?state=deleted").json()["items"]] == [750]
    one = ask(f"{API}/0/900").json()
    assert (one["state"], one["level"], one["bytes_read"]) == ("verified", "headers_verified", 512)
    assert [(c["uri"], c["tier"]) for c in one["copies"]] == [
        ("/data/boom/step-900", "shared"),
        ("s3://bucket/boom/step-900", "bucket"),
    ]
    assert one["inventory"][0] == {
        "name": ".metadata",
        "bytes": 10,
        "mtime_ns": at(900),
        "etag": None,
    }
    assert ask(f"{API}/0/7").status_code == 404


def test_marks_are_set_by_api(client, send, token, looked_at):
    path, headers = f"{API}/0/900/marks", {"Authorization": f"Bearer {token}"}
    assert (
        send(path, {"kind": "pin", "reason": "x"}, make_token("eye", ["read"])).status_code == 403
    )
    assert send(path, {"kind": "pin"}).json()["error"] == "the reason is missing"
    made = send(path, {"kind": "lease", "name": "mmlu", "seconds": 600}).json()["items"]
    assert [(m["kind"], m["name"], m["by"]) for m in made] == [("lease", "mmlu", "test")]
    assert send(path, {"kind": "tag", "name": "best"}).status_code == 200
    kept = client.delete(f"/api/v1/{path}/lease?name=mmlu", headers=headers).json()["items"]
    assert [m["name"] for m in kept] == ["best"]
    assert client.delete(f"/api/v1/{path}/tag?name=best", headers=headers).json() == {"items": []}
