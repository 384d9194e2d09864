"""A small body must not become gigabytes of objects: what is counted cheaply is refused early."""

import orjson
import pytest

from apps.core.errors import BadPayload
from apps.ingest import frames
from apps.ingest.checkpoints.parse import parse as parse_checkpoints
from apps.ingest.logs.parse import MAX_LINES
from apps.ingest.logs.parse import parse as parse_logs
from apps.ingest.metrics.parse import MAX_KEYS
from apps.ingest.metrics.parse import parse as parse_metrics
from apps.ingest.nodes.parse import parse as parse_nodes
from tests import factories

HEAP = frames.MAX_VALUES + 1


def metrics(body):
    return parse_metrics(body, received_ns=0)


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"1,", b'"a":1,', b"[["])
@pytest.mark.parametrize("parse", [metrics, parse_checkpoints, parse_nodes])
def test_json_with_too_many_values(parse, piece):
    with pytest.raises(BadPayload, match="more than 2000000 values"):
        parse(b'{"rows":[' + piece * HEAP + b"0]}")


def test_a_log_body_with_too_many_lines():
    with pytest.raises(BadPayload, match=f"more than {MAX_LINES} lines"):
        parse_logs(factories.log_body(b"\n" * (MAX_LINES + 1)))


def test_a_log_body_with_many_lines_is_fine():
    assert parse_logs(factories.log_body(b"\n" * MAX_LINES)).segments


def named(rows, names_a_row):
    names = range(rows * names_a_row)
    cut = [names[at : at + names_a_row] for at in range(0, len(names), names_a_row)]
    rows = [{"step": step, "values": {str(n): 1 for n in part}} for step, part in enumerate(cut)]
    return orjson.dumps({"rows": rows})


def test_rows_that_share_no_names():
    with pytest.raises(BadPayload, match=f"more than {MAX_KEYS} different names") as caught:
        metrics(named(rows=3, names_a_row=MAX_KEYS // 2))
    assert caught.value.where == "rows[2].values"


def test_as_many_names_as_allowed():
    assert len(metrics(named(rows=2, names_a_row=MAX_KEYS // 2)).rows) == 2
