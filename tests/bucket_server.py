"""A real server of the S3 protocol on the loopback (moto), for tests of the log bucket."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import boto3
import httpx

from tests.stack import free_port, until

NAME = "lastgood-logs"
KEY_ID, SECRET = "AKIATESTTESTTEST", "of-the-tests-only"


class BucketServer:
    """The server as a process. Its objects are gone when it ends."""

    def __init__(self, home: Path) -> None:
        self.log = home / "bucket.log"
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        """Settings of a Lastgood that uses it."""
        return {
            "LOGS_BUCKET": f"{NAME}/site",
            "LOGS_BUCKET_URL": self.url,
            "LOGS_BUCKET_REGION": "us-east-1",
            "LOGS_BUCKET_KEY_ID": KEY_ID,
            "LOGS_BUCKET_SECRET": SECRET,
        }

    def start(self) -> None:
        """Returns when it answers and has the bucket."""
        argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=out, start_new_session=True)
        until(self._answers, "the bucket server")
        self.client().create_bucket(Bucket=NAME)

    def _answers(self) -> bool:
        try:
            return httpx.get(self.url, timeout=2).status_code < 500
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        """Ends it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def client(self):
        """Amazon's own client: what it sees is what is there."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
        )

    def objects(self) -> dict[str, int]:
        """key -> size of all objects."""
        found = self.client().list_objects_v2(Bucket=NAME).get("Contents", [])
        return {entry["Key"]: entry["Size"] for entry in found}

    def clear(self) -> None:
        """Removes all objects."""
        client = self.client()
        for key in self.objects():
            client.delete_object(Bucket=NAME, Key=key)
