"""/runs/<run>/ranks/."""

import pytest
from django.contrib.auth.models import User

from apps.metrics import ranksignals
from tests.metric_samples import recorded_rank_rows
from tests.recorded import replay, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client):
    client.force_login(User.objects.create_user("eve"))
    return client


def test_the_slow_rank_stands_first_with_its_host_and_cost(reader):
    run_id = start("slow")
    rows = [row for row in recorded_rank_rows("slow") if row.step <= 340]
    replay(run_id, rows, 400)
    tables = {table.signal.series: table for table in ranksignals.tables(run_id, 0)}
    first = tables["rank/data_time"].rows[0]
    page = reader.get("/runs/slow/ranks/").content.decode()

    assert (first.rank, first.far) == (6, True)
    assert first.apart == pytest.approx(0.25, rel=0.01)
    assert not any(one.far for one in tables["rank/compute_time"].rows)
    assert "slow rank 6: since step 250" in page
    assert "goes on" in page
    assert page.index("gpu-b02") < page.index("rank/data_time")


def test_the_corrupted_rank_stands_first_by_its_loss(reader):
    run_id = start("sdc_rollback")
    replay(run_id, list(recorded_rank_rows("sdc_rollback")), 2_000)
    table = ranksignals.tables(run_id, 0)[0]
    assert (table.signal.series, table.rows[0].rank) == ("rank/local_loss", 5)
    assert table.rows[0].far
    assert "rank 5 stands apart" in reader.get("/runs/sdc_rollback/ranks/").content.decode()


def test_a_run_whose_ranks_log_nothing_says_so(reader):
    start("quiet")
    page = reader.get("/runs/quiet/ranks/?attempt=0").content.decode()
    assert "no rank logs numbers of its own" in page
    assert reader.get("/runs/nobody/ranks/").status_code == 404
