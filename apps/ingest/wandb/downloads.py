"""The kept files of a run for `wandb.Api`: the list, and a signed address for each."""

from __future__ import annotations

import re
from typing import Any, Final

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from apps.core.database import SERVER_TROUBLE
from apps.core.http import json_error
from apps.ingest.wandb import answers, graphql, uploads
from apps.ingest.wandb.reading import found_run
from apps.ingest.wandb.uploads_store import UploadInfo
from apps.runs import store as runs

LIFE_S: Final = 3600
SALT: Final = "lastgood.wandb.download"


def run_files(request: HttpRequest, asked: graphql.Operation) -> dict[str, Any]:
    """Files of a run, by name: those named, or those like a pattern, else all (at most 100)."""
    run = found_run(asked)
    if run is None:
        return {"project": {"run": None}}
    names = graphql.texts_of(asked.variables, "fileNames", 10_000)
    like = _like(graphql.text_of(asked.variables, "pattern"))
    after = graphql.text_of(asked.variables, "fileCursor")
    kept = [info for info in uploads.uploads(run.id)
            if info.name > after and (not names or info.name in names)
            and like.fullmatch(info.name)]  # fmt: skip
    nodes = [(info.name, _node(request, run.key, info)) for info in kept]
    files = answers.page(nodes, more=False)
    return {
        "project": {
            "internalId": answers.project_id(answers.project_of(run)),
            "run": {"fileCount": len(kept), "files": files},
        }
    }


def _like(pattern: str) -> re.Pattern[str]:
    """A pattern of LIKE with at most three signs for anything, as many as no name makes slow."""
    anything, _, rest = pattern[:200].replace("_", "\0").partition("%")
    parts = [anything, *rest.split("%", 2)] if "%" in pattern else [anything]
    text = ".*".join(re.escape(part).replace("\0", ".") for part in parts)
    return re.compile(text if pattern else ".*")


def _node(request: HttpRequest, key: str, info: UploadInfo) -> dict[str, Any]:
    ticket = signing.dumps([key, info.name], salt=SALT, compress=True)
    url = request.build_absolute_uri(reverse("wandb-download", args=[ticket]))
    return {
        "id": f"{key}/{info.name}",
        "name": info.name,
        "url": url,
        "directUrl": url,
        "sizeBytes": info.content_bytes,
        "mimetype": "application/octet-stream",
        "updatedAt": answers.stamp(info.uploaded_at),
        "md5": info.md5,
    }


@require_GET
def download(request: HttpRequest, ticket: str) -> HttpResponse:
    """A kept file, for whoever was given its address within the hour."""
    try:
        key, name = signing.loads(ticket, salt=SALT, max_age=LIFE_S)
    except signing.BadSignature:
        return json_error(403, "this address is not valid or has expired", hint="ask for the list")
    try:
        run = runs.get_run(key)
        found = uploads.upload(run.id, name) if run else None
    except SERVER_TROUBLE:
        return json_error(503, "the database does not answer", hint="retry", Retry_After="2")
    if found is None:
        return json_error(404, "the file is not there any more")
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    return HttpResponse(found.content, content_type="application/octet-stream", headers=headers)
