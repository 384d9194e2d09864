"""The `wandb` client's way of logging an artifact, without the client."""

from __future__ import annotations

import base64
from typing import Any

import orjson
from django.test import Client

FIRST = {"name": "r1", "project": "p", "host": "h", "program": "train.py", "config": "{}"}
ASKED: dict[str, Any] = {
    "runName": "r1",
    "projectName": "p",
    "artifactTypeName": "model",
    "artifactCollectionName": "ckpt",
    "digest": "abc",
    "clientID": "one",
    "aliases": [{"alias": "latest", "artifactCollectionName": "ckpt"}],
    "metadata": '{"iteration": 100, "loss": NaN}',
    "historyStep": 101,
}
SHARDS = {"__0_0.distcp": 10, ".metadata": 3}


def manifest(root: str = "file:///ckpt/step-100", files: dict[str, int] = SHARDS) -> bytes:
    """The manifest of a folder that was logged by reference."""
    entries = {
        name: {"digest": "md5", "ref": f"{root}/{name}", "size": size}
        for name, size in files.items()
    }
    return orjson.dumps({"version": 1, "contents": entries})


class Door:
    """The run "r1" and its artifacts."""

    def __init__(self, client: Client, token: str) -> None:
        self._client = client
        self._basic = base64.b64encode(f"api:{token}".encode()).decode()
        self.ask("UpsertBucket", **FIRST)

    def ask(self, operation: str, **variables: Any) -> dict[str, Any]:
        """One GraphQL operation."""
        body = orjson.dumps({"operationName": operation, "query": "", "variables": variables})
        headers = {"Authorization": f"Basic {self._basic}"}
        found = self._client.post("/graphql", body, "application/json", headers=headers)
        return found.json()

    def create(self, **given: Any) -> dict[str, Any]:
        """Id and state of a new artifact."""
        answer = self.ask("CreateArtifact", input=ASKED | given)
        return answer["data"]["createArtifact"]["artifact"]

    def address(self, artifact_id: str) -> str:
        """Where its manifest is to be put."""
        asked = {"artifactID": artifact_id, "includeUpload": True}
        answer = self.ask("CreateArtifactManifest", **asked)["data"]["createArtifactManifest"]
        return answer["artifactManifest"]["file"]["uploadUrl"]

    def put(self, artifact_id: str, content: bytes) -> int:
        """Status of the answer to a manifest."""
        url = self.address(artifact_id)
        return self._client.put(url, content, "application/json").status_code

    def log(self, content: bytes, **given: Any) -> None:
        """A whole artifact."""
        made = self.create(**given)
        assert self.put(made["id"], content) == 200
        assert self.ask("CommitArtifact", artifactID=made["id"])["data"]
