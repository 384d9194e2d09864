"""The API of a Kubernetes cluster: where it is, who asks, lists page by page, and watches."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from apps.core.errors import AppError
from apps.ingest.nodes.sources import SERVICE_ACCOUNT, Source
from workers.listener.fetching import Unreached, Way, fetch, opened, trust

PAGE: Final = 500
WATCH_S: Final = 240
MAX_LINE: Final = 8 << 20


class _ListMeta(msgspec.Struct, frozen=True):
    resourceVersion: str = ""
    # The field of Kubernetes is called `continue`.
    more: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. version: from where a watch goes on. more: token of the next page."""

    body: bytes
    version: str
    more: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """One API server."""

    url: str
    way: Way

    async def page(self, path: str, params: Mapping[str, str], more: str) -> Page:
        """One page of a list; Unreached without one."""
        asked = {**params, "limit": str(PAGE)} | ({"continue": more} if more else {})
        body = await fetch(f"{self.url}{path}", self.way, _several(asked))
        try:
            meta = msgspec.json.decode(body, type=_List).metadata
        except msgspec.DecodeError as error:
            raise Unreached(f"{path} answered no list: {error}") from error
        return Page(body, meta.resourceVersion, meta.more)

    async def watch(
        self, path: str, params: Mapping[str, str], version: str
    ) -> AsyncIterator[list[bytes]]:
        """Lines of a watch from a version on, as many as came together; ends after WATCH_S."""
        asked = {
            **params,
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
        }
        rest = b""
        url = f"{self.url}{path}"
        async with opened(url, self.way, _several(asked), read_s=WATCH_S + 20) as pieces:
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                if len(rest) > MAX_LINE:
                    raise Unreached(f"a line of more than {MAX_LINE >> 20} MiB")
                if whole := [line for line in lines if line.strip()]:
                    yield whole


def _several(params: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: [value] for name, value in params.items()}


def cluster_of(source: Source) -> Cluster:
    """The cluster that an entry of the file means. AppError says what is missing."""
    if source.kubeconfig:
        return _of_kubeconfig(source)
    if source.url:
        return Cluster(source.url.rstrip("/"), _way(source.token_file, source.ca_file, source))
    host, port = (
        os.environ.get("KUBERNETES_SERVICE_HOST"),
        os.environ.get("KUBERNETES_SERVICE_PORT"),
    )
    if not host:
        raise AppError(
            "this does not run in a cluster", where=source.name, hint="give url or kubeconfig"
        )
    way = _way(f"{SERVICE_ACCOUNT}/token", f"{SERVICE_ACCOUNT}/ca.crt", source)
    name = f"[{host}]" if ":" in host else host
    return Cluster(f"https://{name}:{port or 443}", way)


def _way(token_file: str, ca_file: str, source: Source) -> Way:
    return Way(trust(ca_file, verify=source.verify), token_file)


def _of_kubeconfig(source: Source) -> Cluster:
    """The current context of a kubeconfig that names a token or a certificate in files."""
    try:
        said = yaml.safe_load(Path(source.kubeconfig).read_text(encoding="utf-8"))
        context = _named(said["contexts"], said["current-context"])["context"]
        server = _named(said["clusters"], context["cluster"])["cluster"]
        user = _named(said["users"], context["user"])["user"] or {}
        url = str(server["server"]).rstrip("/")
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise AppError(
            f"{source.kubeconfig} is no kubeconfig with a current context: {error}",
            where=source.name,
        ) from error
    return Cluster(url, Way(_trusted(server, user, source), str(user.get("tokenFile") or ""),
                            _token(user, source)))  # fmt: skip


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(one for one in [*entries, {}] if not one or one["name"] == name)


def _token(user: Mapping[str, Any], source: Source) -> str:
    if user.get("token") or user.get("tokenFile") or user.get("client-certificate"):
        return str(user.get("token") or "")
    raise AppError(
        "this kubeconfig logs in by a program or by embedded data",
        where=source.name,
        hint="use the token of a service account: see docs/triage.md",
    )


def _trusted(server: Mapping[str, Any], user: Mapping[str, Any], source: Source) -> ssl.SSLContext:
    if server.get("insecure-skip-tls-verify") or not source.verify:
        raise AppError(
            "the certificate of a cluster is always verified",
            where=source.name,
            hint="give ca_file",
        )
    try:
        data = base64.b64decode(str(server.get("certificate-authority-data") or "")).decode("ascii")
        file = source.ca_file or server.get("certificate-authority")
        context = ssl.create_default_context(cafile=file or None, cadata=data or None)
        if user.get("client-certificate"):
            context.load_cert_chain(user["client-certificate"], user.get("client-key"))
    except (OSError, ssl.SSLError, binascii.Error, ValueError) as error:
        raise AppError(f"a certificate cannot be read: {error}", where=source.name) from error
    return context
