import pickle
import sys
import tracemalloc
import types

import pytest

from apps.checkpoints.domain.dcp_metadata import parse_metadata
from tests import ckpt_files
from workers.benches.dcp_writer import metadata


def _written(tensors, ranks):
    return b"".join(metadata(tensors, ranks))


def test_what_is_written_like_torch_writes_it_is_understood():
    promised = parse_metadata(_written(20, 16))
    assert (promised.tensors, promised.chunks, promised.uncovered) == (20, 320, ())
    assert len(promised.needed_bytes) == 16
    assert promised.edges["__3_0.distcp"][0].offset == 0


def test_memory_stays_below_three_times_the_file():
    """Built up whole, it was fifteen times the file."""
    content = _written(60, 32)
    assert _peak_bytes(content) < 3 * len(content)


def _peak_bytes(content):
    tracemalloc.start()
    try:
        parse_metadata(content)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _class(monkeypatch, module, name, base=object):
    """A class that pickles under the name of one of torch."""
    if module not in sys.modules:
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    made = type(name, (base,), {"__module__": module})
    monkeypatch.setattr(sys.modules[module], name, made, raising=False)
    return made


def _filled(kind, **state):
    made = kind()
    made.__dict__.update(state)
    return made


@pytest.fixture
def dcp(monkeypatch):
    """Classes under the names of torch's, and how to make a tensor of them."""
    module = "torch.distributed.checkpoint"
    size = _class(monkeypatch, "torch", "Size", tuple)
    size.__reduce__ = lambda self: (size, (tuple(self),))
    names = ("Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "MetadataIndex")
    whole, tensor, chunk, index = (_class(monkeypatch, f"{module}.metadata", n) for n in names)
    place = _class(monkeypatch, f"{module}.filesystem", "_StorageInfo")

    def part(length):
        return _filled(chunk, offsets=size((0,)), sizes=size((length,)))

    def tensor_of(length, *chunks):
        return _filled(tensor, size=size((length,)), chunks=list(chunks))

    def pickled(tensors, stored):
        items = {_filled(index, fqn=name, n=n): where for n, (name, where) in enumerate(stored)}
        content = _filled(whole, state_dict_metadata=tensors, storage_data=items)
        return pickle.dumps(content, protocol=4)

    def stored(length):
        return _filled(place, relative_path="__0_0.distcp", offset=0, length=length)

    return types.SimpleNamespace(part=part, tensor=tensor_of, pickled=pickled, stored=stored)


def test_an_object_that_the_file_refers_to_again_counts_again(dcp):
    part, where = dcp.part(4), dcp.stored(99)
    tensors = {"a": dcp.tensor(4, part), "b": dcp.tensor(8, part, part)}
    promised = parse_metadata(dcp.pickled(tensors, [("a", where), ("b", where), ("b", where)]))
    assert (promised.tensors, promised.chunks, promised.uncovered) == (2, 3, ())
    assert promised.needed_bytes == {"__0_0.distcp": 99}


def test_shards_in_the_form_of_safetensors_are_held_to_their_own_header(dcp):
    """torch writes offset 0 for each of their items, and the length of the tensor alone."""
    tensors = {"a": dcp.tensor(4, dcp.part(4)), "b": dcp.tensor(8, dcp.part(8))}
    metadata = dcp.pickled(tensors, [("a", dcp.stored(16)), ("b", dcp.stored(32))])
    shard = ckpt_files.safetensors({"a": (4,), "b": (8,)})
    files = {"weights/.metadata": metadata, "weights/__0_0.distcp": shard}
    assert ckpt_files.codes(files) == set()
    assert ckpt_files.codes(files | {"weights/__0_0.distcp": shard[:-1]}) == {"TRUNCATED"}
