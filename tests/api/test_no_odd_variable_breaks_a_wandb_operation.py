"""Every GraphQL operation says what is wrong with a variable under 200: a 500 is asked again."""

import base64

import orjson
import pytest

from apps.accounts.services import make_token
from apps.ingest.wandb.reading import READS
from apps.ingest.wandb.views import _ANSWERS
from tests.artifact_door import FIRST

ODD = [3, 1.5, "x\0", [None], {"a": 1}]
USUAL = FIRST | {"run": "r1", "runName": "r1", "projectName": "p", "entity": "lastgood"}
NAMES = [
    "id", "config", "host", "program", "tags", "displayName", "files", "entityName", "title",
    "text", "severity", "waitDuration", "input", "artifactID", "artifactFiles", "aliases",
    "metadata", "historyStep", "clientID", "fileNames", "pattern", "fileCursor", "filters",
    "order", "cursor", "perPage", "samples", "spec", "specs", "minStep", "maxStep", "first",
    "last", "after", "metricName", "metricValue", "includeUpload",
]  # fmt: skip
OPERATIONS = sorted(_ANSWERS.keys() | READS.keys())


@pytest.fixture
def ask(client, db, valkey, fresh_caches, settings):
    settings.INGEST_ACK = "commit"
    key = make_token("all", ["ingest", "read"])
    basic = base64.b64encode(f"api:{key}".encode()).decode()

    def send(operation, variables):
        body = {"operationName": operation, "query": "summaryMetrics", "variables": variables}
        headers = {"Authorization": f"Basic {basic}"}
        return client.post("/graphql", orjson.dumps(body), "application/json", headers=headers)

    send("UpsertBucket", FIRST)
    return send


@pytest.mark.parametrize("value", ODD)
def test_what_is_odd_is_said_under_200(ask, value):
    asked = USUAL | dict.fromkeys(NAMES, value)
    for operation in OPERATIONS:
        assert ask(operation, asked).status_code == 200, operation
        assert ask(operation, USUAL | {"input": asked}).status_code == 200, operation
