"""What the listener is to listen to: the file that NODE_SOURCES names. Plain Python.

sources:
  - {name: exporters, kind: prometheus, urls: ["http://gpu-a[001-064]:9400/metrics"]}
  - {name: cluster, kind: kubernetes, kubeconfig: /etc/lastgood/kubeconfig}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec
import yaml

from apps.core.errors import AppError

MAX_SOURCES, MAX_TARGETS = 100, 20_000
MAX_FILE_BYTES: Final = 1 << 20
_RANGE = re.compile(r"\[(\d{1,6})-(\d{1,6})\]")
_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}$")]
SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the file.

    urls: of exporters or gpuds, [001-064] stands for each number; as a table node -> address where
    the host in the address is not the node's name. url, token_file, ca_file, kubeconfig: of a
    cluster; without any of them the one that Lastgood runs in. namespaces: of pods and events, all
    without any. verify: whether the certificate of the other side must be good.
    """

    name: _Name
    kind: Literal["prometheus", "gpud", "kubernetes"]
    urls: list[str] | dict[str, str] = []
    every_s: Annotated[float, msgspec.Meta(ge=5, le=3_600)] = 30.0
    url: str = ""
    token_file: str = ""
    ca_file: str = ""
    kubeconfig: str = ""
    namespaces: list[str] = []
    verify: bool = True


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: Annotated[list[Source], msgspec.Meta(max_length=MAX_SOURCES)]


@dataclass(frozen=True, slots=True)
class Target:
    """One address that is asked. node: whose it is, "" where the answer says so itself."""

    url: str
    node: str


def read(text: str) -> tuple[Source, ...]:
    """The sources of a file; AppError names the entry at fault."""
    try:
        said = yaml.safe_load(text)
        found = msgspec.convert(said, _File).sources
    except yaml.YAMLError as error:
        raise AppError(f"no YAML: {' '.join(str(error).split())}", where="NODE_SOURCES") from error
    except (msgspec.ValidationError, RecursionError) as error:
        message, _, path = str(error).partition(" - at ")
        place = path.replace("`", "").removeprefix("$.") or "NODE_SOURCES"
        raise AppError(message, where=place, hint="see docs/triage.md") from error
    names = [one.name for one in found]
    for at, one in enumerate(found):
        where = f"sources[{at}]"
        if one.name in names[:at]:
            raise AppError(f'the name "{one.name}" is taken', where=where)
        _check(one, where)
    return tuple(found)


def _check(one: Source, where: str) -> None:
    if one.kind == "kubernetes":
        if one.urls:
            raise AppError("a cluster has one url", where=f"{where}.urls", hint="use url")
        if one.url:
            _address(one.url, f"{where}.url")
        return
    if one.url or one.kubeconfig or one.namespaces:
        raise AppError(f"{one.kind} has only urls", where=where, hint="see docs/triage.md")
    for at, target in enumerate(targets(one)):
        if at >= MAX_TARGETS:
            raise AppError(f"more than {MAX_TARGETS} addresses", where=f"{where}.urls")
        _address(target.url, f"{where}.urls")
    if not one.urls:
        raise AppError("there is no address", where=f"{where}.urls")


def _address(url: str, where: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.username:
        hint = "such as http://gpu-a01:9400/metrics, without a password"
        raise AppError(f'"{url[:100]}" is no http or https address', where=where, hint=hint)


def targets(source: Source) -> Iterator[Target]:
    """Every address of a source that is asked again and again, at most MAX_TARGETS + 1."""
    named = source.urls if isinstance(source.urls, Mapping) else None
    left = MAX_TARGETS + 1
    for said in source.urls:
        node, url = (said, named[said]) if named is not None else ("", said)
        for one in _each(url, left):
            own = node or ("" if is_federation(one) else _parts(one).hostname or "")
            yield Target(one, own)
            left -= 1


def _each(url: str, most: int) -> Iterator[str]:
    found = _RANGE.search(url)
    if found is None:
        if most > 0:
            yield url
        return
    first, last = int(found[1]), int(found[2])
    for number in range(first, min(last, first + most - 1) + 1):
        yield f"{url[: found.start()]}{number:0{len(found[1])}d}{url[found.end() :]}"


def is_federation(url: str) -> bool:
    """Whether a Prometheus answers there for all its targets: it must be told which series."""
    return _parts(url).path.rstrip("/").endswith("/federate")


def _parts(url: str) -> SplitResult:
    """The parts of an address; none of what is no address, as `[:08-10]` for a host."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
