"""/projects/<project>/detectors/ and /api/v1/projects/<project>/detectors."""

import pytest
from django.contrib.auth.models import User

from apps.accounts.services import make_token
from apps.incidents import store as incidents
from apps.incidents.store import IncidentQuery
from apps.ingest.analyse import analyse
from apps.ingest.store import mark_written
from apps.metrics import store
from apps.metrics.store import MovedThresholds
from tests.incident_samples import at
from tests.sibling_samples import logged, losses

pytestmark = pytest.mark.django_db
PAGE, API = "/projects/-/detectors/", "projects/-/detectors"
DEAF = {
    "up.page_z": 50, "up.page_excess": 5, "up.page_z_long": 50, "up.page_excess_long": 5,
    "up.fast_rows": 10, "up.urgent_rows": 10,
    "slow_short.start_row": 100_000, "slow.start_row": 100_000,
}  # fmt: skip


@pytest.fixture
def incident(db, valkey):
    """Of a run that exploded at step 1,000, found by the detector itself."""
    values = losses(steps=1_250)
    values[1_000:] += 2.3
    run = logged("boom", values, project="")
    mark_written(run, [0])
    analyse(run, 0, at(2_000))
    (found,) = incidents.list_incidents(IncidentQuery(run_id=run))
    return found


@pytest.fixture(autouse=True)
def today(monkeypatch):
    """The day of the incident, whenever this runs."""
    for module in ("apps.dashboard.views_detectors", "apps.api.detectors"):
        monkeypatch.setattr(f"{module}.now_ns", lambda: at(2_000))


def form(act="save", version=0, **values):
    named = {f"t-{slug.replace('__', '.')}": value for slug, value in values.items()}
    return {"act": act, "version": version, "reason": "noisy", **named}


def deaf(act):
    return {**form(act), **{f"t-{slug}": str(value) for slug, value in DEAF.items()}}


def saved():
    return dict(store.thresholds_of("").values)


def test_the_page_shows_each_threshold_with_default_range_and_source(operator, incident):
    text = operator.get(PAGE).content.decode()
    assert "all at their defaults" in text
    assert 'name="t-up.open_z"' in text
    assert "2 to 50" in text
    assert "Where the defaults come from: in 58 public logs" in text


def test_a_preview_says_which_incident_would_not_have_been_and_saves_nothing(operator, incident):
    text = operator.post(PAGE, deaf("preview")).content.decode()
    assert "no longer pages" in text
    assert f'href="/incidents/{incident.id}/"' in text
    assert 'value="50"' in text
    assert saved() == {}


def test_what_is_saved_counts_and_is_shown_as_moved(operator, incident):
    answer = operator.post(PAGE, form(up__open_z="7.5", min_rows="30"))
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert saved() == {"up.open_z": 7.5}
    text = operator.get(PAGE).content.decode()
    assert 'value="7.5"' in text
    assert "last changed by ada" in text
    assert b"thresholds.changed" in operator.get("/audit/").content


@pytest.mark.parametrize(
    ("act", "values", "told"),
    [
        ("save", {"up__open_z": "far"}, "&quot;far&quot; is no number"),
        ("preview", {"up__open_z": "1000"}, "1000 is out of its range"),
        ("save", {"up__open_z": "nan"}, "that is no number"),
        ("save", {"min_rows": "30.5"}, "no whole number"),
    ],
)
def test_what_makes_no_sense_is_told_and_kept_in_its_field(operator, incident, act, values, told):
    answer = operator.post(PAGE, form(act, **values))
    text = answer.content.decode()
    assert (answer.status_code, saved()) == (400, {})
    assert told in text
    assert f'value="{next(iter(values.values()))}"' in text


def test_two_people_at_once_do_not_overwrite_each_other(operator, incident):
    operator.post(PAGE, form(up__open_z="7"))
    answer = operator.post(PAGE, form(up__open_z="8"))
    assert (answer.status_code, saved()) == (409, {"up.open_z": 7.0})


def test_an_operator_may_try_but_not_save(client, incident):
    client.force_login(User.objects.create_user("olga", is_staff=True))
    assert b"Saving needs the scope" in client.get(PAGE).content
    assert b"no longer pages" in client.post(PAGE, deaf("preview")).content
    answer = client.post(PAGE, form(up__open_z="7"))
    assert (answer.status_code, saved()) == (403, {})


def test_who_only_reads_sees_them(reader, incident):
    assert b"disabled" in reader.get(PAGE).content
    assert reader.post(PAGE, deaf("preview")).status_code == 403


def test_a_project_nobody_knows_is_not_there(operator, incident):
    assert operator.get("/projects/nobody/detectors/").status_code == 404


def test_the_api_shows_tries_and_saves_them(ask, send, client, incident):
    key = {"Authorization": f"Bearer {make_token('boss', ['read', 'operate', 'admin'])}"}
    (one,) = [t for t in ask(API).json()["thresholds"] if t["slug"] == "up.open_z"]
    assert (one["default"], one["value"], one["low"], one["high"]) == (5.0, 5.0, 2.0, 50.0)

    found = send(f"{API}/preview", {"values": DEAF}).json()
    assert [(e["how"], e["run"], e["onset_step"]) for e in found["episodes"]] == [
        ("lost", "boom", 1_000)
    ]
    body = {"version": 0, "values": {"up.open_z": 6}, "reason": "noisy"}
    put = {"content_type": "application/json", "headers": key}
    assert client.put(f"/api/v1/{API}", body, **put).json()["values"] == {"up.open_z": 6.0}
    assert client.put(f"/api/v1/{API}", body, **put).status_code == 409
    assert store.thresholds_of("") != MovedThresholds()


def test_the_api_asks_for_the_scope_admin(client, token, incident):
    key = {"Authorization": f"Bearer {token}"}
    body = {"version": 0, "values": {}}
    answer = client.put(f"/api/v1/{API}", body, content_type="application/json", headers=key)
    assert (answer.status_code, answer.json()["error"]) == (403, 'this needs the scope "admin"')
