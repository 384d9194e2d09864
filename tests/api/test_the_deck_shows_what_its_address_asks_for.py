"""deck.json of a run with layers, other runs beside it, and series that people pinned."""

import gzip
import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import AuditEntry
from apps.core.records import MetricRow
from apps.logs.store import write_lines
from apps.metrics import store as metrics
from apps.runs import store as runs
from apps.runs.progress_store import note_progress
from apps.runs.records import PlacementInfo, Progress
from tests.log_samples import parse

pytestmark = pytest.mark.django_db
T0_NS = 1_795_981_200_000_000_000
STEP_NS = 1_000_000_000
DECK, PINS = "/runs/deep/deck.json", "/runs/deep/pins/"


def logged(key, steps=200, pace_ns=STEP_NS):
    """A run of one attempt: loss with one NaN, two layers, and how many tokens it saw."""
    run_id = runs.ensure_run(key)
    runs.open_attempt(run_id, 0, T0_NS)
    rows = [
        MetricRow(n, T0_NS + n * pace_ns, {
            "train/loss": math.nan if n == 50 else 3.0 - n / 100,
            "grad_norm/layers.0": 1.0 + n % 3,
            "grad_norm/layers.1": 2.0,
            "aux/odd": float(n),
        })
        for n in range(steps)
    ]  # fmt: skip
    metrics.write_rows(run_id, 0, rows, source="test")
    last = T0_NS + (steps - 1) * pace_ns
    note_progress(run_id, 0, Progress(0, steps - 1, last, last), None)
    return run_id


@pytest.fixture
def deep(valkey):
    return logged("deep")


def asked(person, **said):
    return person.get(DECK, said).json()


def roles(chart):
    return [trace["meta"]["role"] for trace in chart["figure"]["data"]]


def test_curves_and_layers_come_apart_or_together(reader, deep):
    first = asked(reader, part="charts")
    assert "heatmap" not in first
    more = asked(reader, part="more")
    assert "charts" not in more
    whole = asked(reader)
    assert whole["heatmap"] == more["heatmap"]
    assert whole["charts"] == first["charts"]


def test_hosts_are_read_once_however_often_a_run_was_started(reader, deep):
    for number in range(3):
        runs.open_attempt(deep, number, T0_NS + number)
        runs.record_placements(deep, number, [PlacementInfo(0, f"gpu-{number}", 0)])
    with CaptureQueriesContext(connection) as said:
        asked(reader, part="charts")
    assert sum("runs_placement" in one["sql"] for one in said) == 1


def test_what_did_not_change_is_not_sent_again(reader, deep):
    tag = reader.get(DECK)["ETag"]
    assert reader.get(DECK, headers={"If-None-Match": tag}).status_code == 304
    answer = reader.get(DECK, {"smooth": "0.9"}, headers={"If-None-Match": tag})
    assert answer.status_code == 200


def test_the_answer_is_packed_for_who_takes_that(reader, deep):
    packed = reader.get(DECK, headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == reader.get(DECK).content
    assert len(packed.content) * 3 < len(reader.get(DECK).content)


def test_the_address_says_how_rows_are_drawn(reader, deep):
    loss = asked(reader, smooth="0.9", log="loss")["charts"]["loss"]
    assert "smooth" in roles(loss)
    assert "nonfinite" in roles(loss)
    assert loss["figure"]["layout"]["yaxis"]["type"] == "log"


def test_rows_of_the_heatmap_are_lines_too(reader, deep):
    chart = asked(reader, part="more", lines="layer 1|no such row")["layers"]
    assert [label for label, _ in chart["labels"]] == ["layer 1"]
    assert set(chart["figure"]["data"][0]["y"]) == {2.0}
    assert asked(reader, part="more", lines="no such row")["layers"] is None


def test_lines_are_of_the_statistic_that_the_heatmap_shows(reader, deep):
    shown = asked(reader, part="more", lines="layer 1", statistic="no such statistic")
    assert [label for label, _ in shown["layers"]["labels"]] == ["layer 1"]


def test_another_run_lies_where_it_was_as_far(reader, deep):
    logged("slow", steps=100, pace_ns=2 * STEP_NS)
    loss = asked(reader, **{"with": "slow,nobody", "align": "relative"})
    (other,) = [t for t in loss["charts"]["loss"]["figure"]["data"] if t["meta"]["role"] == "other"]
    assert other["x"][-1] == pytest.approx(198)
    assert loss["note"] == "not compared: nobody: no such run"
    tokens = asked(reader, **{"with": "slow", "align": "tokens"})
    assert "logs no tokens" in tokens["note"]


@pytest.mark.parametrize(("align", "pace"), [("step", 1), ("relative", 2)])
def test_another_run_is_drawn_at_full_resolution_in_a_zoom(reader, deep, align, pace):
    logged("slow", steps=400, pace_ns=STEP_NS // pace)
    said = {"with": "slow", "align": align, "px": "200"}
    ((whole,), (part,)) = (
        [t for t in told["charts"]["loss"]["figure"]["data"] if t["meta"]["role"] == "other"]
        for told in (asked(reader, **said), asked(reader, **said, **{"from": "60", "to": "80"}))
    )
    inside = [x for x in part["x"] if 60 <= x <= 80]
    assert len(inside) == 20 * pace + 1
    assert len([x for x in whole["x"] if 60 <= x <= 80]) < len(inside)
    assert min(part["x"]) >= 50


def test_errors_of_the_logs_lie_on_the_axis(reader, deep):
    line = "2026-11-29 19:41:30.000 [ERROR] [rank0] CUDA error\n"
    write_lines(deep, 0, "gpu-a01", [parse(line)], batch_id="b")
    at_ms = 1_795_981_290_000  # 90 s after the first step
    (stretch,) = asked(reader, part="more")["pulse"]
    assert sum(errors for errors, _ in stretch["counts"]) == 1
    bucket = next(i for i, loud in enumerate(stretch["counts"]) if loud[0])
    assert stretch["ms"][bucket] <= at_ms <= stretch["ms"][bucket + 1]
    assert stretch["x"][bucket] <= 90 <= stretch["x"][bucket + 1]


def test_errors_of_all_attempts_are_read_at_once(reader, deep):
    for number in range(3):
        runs.open_attempt(deep, number, T0_NS)
        rows = (
            MetricRow(0, T0_NS, {"train/loss": 1.0}),
            MetricRow(9, T0_NS + 9 * STEP_NS, {"train/loss": 1.0}),
        )
        metrics.write_rows(deep, number, rows, source="test")
        line = f"2026-11-29 19:40:0{number}.000 [ERROR] [rank0] CUDA error\n"
        write_lines(deep, number, "gpu-a01", [parse(line)], batch_id=f"b{number}")
    with CaptureQueriesContext(connection) as said:
        found = asked(reader, part="more")["pulse"]
    assert [(one["attempt"], sum(errors for errors, _ in one["counts"])) for one in found] == [
        (0, 1),
        (1, 1),
        (2, 1),
    ]
    assert sum("logs_pulsehour" in one["sql"] for one in said) == 1


def test_a_pinned_series_is_a_row_of_its_own_until_it_is_taken_off(reader, deep):
    assert reader.post(PINS, {"key": "aux/odd"}).status_code == 302
    chart = asked(reader)["charts"]["pin:aux/odd"]
    assert (chart["name"], chart["last"]) == ("aux/odd", 199.0)
    reader.post(PINS, {"key": "aux/odd", "off": "1"})
    assert "pin:aux/odd" not in asked(reader)["charts"]
    told = AuditEntry.objects.filter(run_id=deep).order_by("id").values_list("action", flat=True)
    assert list(told) == ["deck.pinned", "deck.unpinned"]


def test_only_who_may_operate_pins_for_everybody(client, reader, deep, django_user_model):
    reader.post(PINS, {"key": "aux/odd", "for": "all"})
    client.force_login(django_user_model.objects.create_superuser("ada"))
    assert "pin:aux/odd" not in asked(client)["charts"]
    client.post(PINS, {"key": "aux/odd", "for": "all"})
    client.force_login(django_user_model.objects.create_user("bob"))
    assert "pin:aux/odd" in asked(client)["charts"]
    refused = client.post(PINS, {"key": "aux/odd", "off": "1"}, follow=True)
    assert "only an operator takes that off" in refused.content.decode()
    assert "pin:aux/odd" in asked(client)["charts"]
    client.force_login(django_user_model.objects.get(username="ada"))
    client.post(PINS, {"key": "aux/odd", "off": "1"})
    gone = AuditEntry.objects.get(action="deck.unpinned")
    assert (gone.object, gone.before["for"]) == ("run deep", "everybody")


def test_what_nobody_logs_cannot_be_pinned_and_names_are_found(reader, deep):
    answer = reader.post(PINS, {"key": "aux/none"}, follow=True)
    assert "logs nothing called aux/none" in answer.content.decode()
    found = reader.get("/runs/deep/series/names", {"q": "LAYERS"}).json()
    assert found == {"names": ["grad_norm/layers.0", "grad_norm/layers.1"], "more": 0}


def test_a_pinned_series_is_a_table_and_a_file(reader, deep):
    assert "aux/odd" in reader.get("/runs/deep/series/", {"key": "aux/odd"}).content.decode()
    file = reader.get("/runs/deep/series/", {"key": "aux/odd", "format": "csv"})
    assert 'filename="deep-aux-odd.csv"' in file["Content-Disposition"]
    assert len(b"".join(file.streaming_content).splitlines()) == 201
    assert reader.get("/runs/deep/series/", {"key": "aux/none"}).status_code == 404
