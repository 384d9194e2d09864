"""What a PyTorch DCP `.metadata` file promises: files, bytes in each, tensors, coverage."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from apps.core.pickles import Expected, Folding, Node, read_pickle

MAX_METADATA_BYTES = 256 * 1024 * 1024
MAX_DIMENSIONS = 64
# A real chunk takes about 150 bytes of the file. Without this bound a hostile file could let a
# million tensors share one list of a million chunks.
MIN_BYTES_PER_CHUNK = 20
_DCP = "torch.distributed.checkpoint"
_ALLOWED = frozenset(
    (
        *(
            f"{_DCP}.metadata.{name}"
            for name in (
                "Metadata",
                "TensorStorageMetadata",
                "TensorProperties",
                "ChunkStorageMetadata",
                "BytesStorageMetadata",
                "MetadataIndex",
                "StorageMeta",
                "_MEM_FORMAT_ENCODING",
            )
        ),
        f"{_DCP}.filesystem._StorageInfo",
        f"{_DCP}.filesystem._StoragePrefix",
        "torch.Size",
        "torch.device",
        "torch.serialization._get_layout",
        "collections.OrderedDict",
        "pathlib.Path",
        "pathlib.PosixPath",
    )
)
_TENSOR = f"{_DCP}.metadata.TensorStorageMetadata"
_SIZE = "torch.Size"
_DTYPE = re.compile(r"(?:b?float|complex|u?int|qu?int|bits)\d+\w*|bool")


@dataclass(frozen=True, slots=True)
class Item:
    """Where an item lies in its file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class DcpMetadata:
    """What the metadata file says.

    needed_bytes: file name (relative to the `.metadata` file) -> bytes it must at least have.
    loose: files whose items all claim their beginning: written in the form of safetensors, whose
    own header says where they lie.
    edges: file name -> its first and its last item, of those that are stored as torch.save writes
    them, not compressed or otherwise changed.
    uncovered: names of tensors whose chunks do not add up to the tensor, or are stored nowhere.
    tensors, byte_items, chunks: counts. version: the format version, None if the file has none.
    """

    needed_bytes: dict[str, int]
    tensors: int
    byte_items: int
    chunks: int
    uncovered: tuple[str, ...]
    version: str | None
    edges: dict[str, tuple[Item, Item]]
    loose: frozenset[str] = frozenset()


def allowed_global(module: str, name: str) -> bool:
    """Whether a DCP metadata file may name `module.name`.

    Source: the 14 globals seen in files of torch 2.11 and 2.13, plus three that its writers may
    use. A data type is any `torch.<number type>`.
    """
    if module == "torch" and _DTYPE.fullmatch(name):
        return True
    return f"{module}.{name}" in _ALLOWED


_EXPECTED = Expected(
    what="a DCP metadata file",
    allowed=allowed_global,
    if_cut="the file is cut or not a DCP metadata file; take an older checkpoint",
    if_unsafe="do not load this checkpoint anywhere; find out who wrote it",
)


def parse_metadata(data: bytes, *, max_bytes: int = MAX_METADATA_BYTES) -> DcpMetadata:
    """The promises of a `.metadata` file, without importing torch and without running the pickle.

    Raises PickleRefused (and nothing else): too large, cut, not a pickle, a name outside the allow
    list, or fields of the wrong kind. Chunks are summed up while they are read: 150 bytes of the
    file each, in memory about as much again for the whole.
    """
    if len(data) > max_bytes:
        raise _EXPECTED.refuses(f"{len(data)} bytes are more than the limit of {max_bytes}")
    folding = _Sums(len(data) // MIN_BYTES_PER_CHUNK)
    root = read_pickle(data, _EXPECTED, folding)
    try:
        return _interpret(_state(root, f"{_DCP}.metadata.Metadata"), folding)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _EXPECTED.refuses(f"the pickle is no DCP metadata: {error}") from error


class _Tensor(NamedTuple):
    """A tensor whose chunks were summed up."""

    covered: bool
    chunks: int


class _Chunk(NamedTuple):
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


class _Index(NamedTuple):
    """What a stored item belongs to."""

    name: str


class _Stored(NamedTuple):
    """Where an item is stored. plain: as torch.save writes it."""

    file: str
    item: Item
    plain: bool


@dataclass(slots=True)
class _Storage:
    """Stored items, summed up. counts: by tensor. needed, edges: by file, as in DcpMetadata."""

    counts: dict[str, int] = field(default_factory=dict)
    needed: dict[str, int] = field(default_factory=dict)
    edges: dict[str, tuple[Item, Item]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)

    def add(self, index: _Index, stored: _Stored) -> None:
        """One more item."""
        file, item, plain = stored
        self.counts[index.name] = self.counts.get(index.name, 0) + 1
        self.needed[file] = max(self.needed.get(file, 0), item.offset + item.length)
        if item.offset == 0:
            (self.loose if file in self.begun else self.begun).add(file)
        if plain:
            first, last = self.edges.get(file, (item, item))
            self.edges[file] = (min(first, item, key=_start), max(last, item, key=_start))


class _Sums(Folding):
    """Sums up chunks and stored items as they are read. budget: chunks that the file can hold."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.storage: dict[int, _Storage] = {}

    def node(self, node: Node) -> Any:
        """A value in place of a node of DCP; any other node, and one without its state, stays."""
        fold = _FOLDS.get(node.kind)
        if fold is None or (node.state is None and node.kind != _SIZE):
            return node
        if node.kind == _TENSOR:
            tensor = _tensor(node, [self.again(chunk) for chunk in _chunks(node, self.budget)])
            self.budget -= tensor.chunks
            return tensor
        return fold(node)

    def again(self, value: Any) -> Any:
        """What a value folds to that the file refers to once more: that gives the node itself."""
        return self.node(value) if isinstance(value, Node) else value

    def pairs(self, target: dict[Any, Any], pairs: list[Any]) -> list[Any]:
        """Takes stored items out: a million of them are not kept."""
        if len(pairs) < 2 or not isinstance(self.again(pairs[0]), _Index):
            return pairs
        sums = self.storage.setdefault(id(target), _Storage())
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            index, stored = self.again(key), self.again(value)
            if not isinstance(index, _Index) or not isinstance(stored, _Stored):
                raise TypeError("a stored item without a name or a file")
            sums.add(index, stored)
        return []


def _size(node: Node) -> tuple[int, ...]:
    (dimensions,) = node.args
    if not isinstance(dimensions, tuple) or len(dimensions) > MAX_DIMENSIONS:
        raise TypeError("expected a size")
    return tuple(_count(part) for part in dimensions)


def _chunk(node: Node) -> _Chunk:
    place = _mapping(node.state)
    return _Chunk(_shape(place["offsets"]), _shape(place["sizes"]))


def _index(node: Node) -> _Index:
    name = _mapping(node.state)["fqn"]
    if not isinstance(name, str):
        raise TypeError("a stored item without a name")
    return _Index(name)


def _stored(node: Node) -> _Stored:
    place = _mapping(node.state)
    file = place["relative_path"]
    if not isinstance(file, str):
        raise TypeError("a stored item without a file")
    item = Item(_count(place["offset"]), _count(place["length"]))
    return _Stored(file, item, not place.get("transform_descriptors"))


def _chunks(node: Node, budget: int) -> list[Any]:
    chunks = _mapping(node.state)["chunks"]
    if not isinstance(chunks, list):
        raise TypeError("the chunks of a tensor are not a list")
    if len(chunks) > budget:
        raise ValueError("it lists more chunks than it can hold")
    return chunks


def _tensor(node: Node, chunks: list[Any]) -> _Tensor:
    """Whether the chunks add up to the tensor and lie inside it, and how many they are."""
    size = _shape(_mapping(node.state)["size"])
    total, inside = 0, True
    for chunk in chunks:
        if not isinstance(chunk, _Chunk):
            raise TypeError("expected ChunkStorageMetadata")
        total += prod(chunk.sizes)
        inside = inside and len(chunk.offsets) == len(chunk.sizes) == len(size)
        inside = inside and all(
            start + length <= limit
            for start, length, limit in zip(chunk.offsets, chunk.sizes, size, strict=False)
        )
    return _Tensor(inside and total == prod(size), len(chunks))


_FOLDS: dict[str, Callable[[Node], Any]] = {
    _SIZE: _size,
    _TENSOR: lambda node: node,
    f"{_DCP}.metadata.ChunkStorageMetadata": _chunk,
    f"{_DCP}.metadata.MetadataIndex": _index,
    f"{_DCP}.filesystem._StorageInfo": _stored,
}


def _interpret(fields: dict[str, Any], sums: _Sums) -> DcpMetadata:
    entries = fields.get("storage_data")
    storage = sums.storage.get(id(entries), _Storage())
    if entries is not None and _mapping(entries):
        raise TypeError("a stored item without a name or a file")
    items = {k: sums.again(v) for k, v in _mapping(fields["state_dict_metadata"]).items()}
    tensors = {name: item for name, item in items.items() if isinstance(item, _Tensor)}
    for item in items.values():
        if not isinstance(item, _Tensor) and not item.kind.endswith(".BytesStorageMetadata"):
            raise TypeError("expected TensorStorageMetadata")
    uncovered = [
        str(name)
        for name, item in items.items()
        if not _is_covered(item, storage.counts.get(name, 0))
    ]
    version = fields.get("version")
    return DcpMetadata(
        needed_bytes=storage.needed,
        tensors=len(tensors),
        byte_items=len(items) - len(tensors),
        chunks=sum(tensor.chunks for tensor in tensors.values()),
        uncovered=tuple(uncovered),
        version=version if isinstance(version, str) else None,
        edges={name: ends for name, ends in storage.edges.items() if name not in storage.loose},
        loose=frozenset(storage.loose),
    )


def _is_covered(item: Any, stored: int) -> bool:
    return item.covered and stored >= item.chunks if isinstance(item, _Tensor) else stored > 0


def _start(item: Item) -> int:
    return item.offset


def _state(item: Any, kind: str) -> dict[str, Any]:
    if not isinstance(item, Node) or item.kind != kind:
        raise TypeError(f"expected {kind.rpartition('.')[2]}")
    return _mapping(item.state)


def _mapping(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise TypeError("expected a dictionary")
    return value


def _shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple):
        raise TypeError("expected a size")
    return value


def _count(value: Any) -> int:
    # 2**63: what a file system or a tensor can hold; keeps products of hostile numbers small.
    if not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError("expected a count that is not negative")
    return value
