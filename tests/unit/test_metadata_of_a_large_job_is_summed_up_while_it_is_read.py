import pickle
import sys
import tracemalloc
import types

from apps.checkpoints.domain.dcp_metadata import parse_metadata
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


def test_an_object_that_the_file_refers_to_again_counts_again(monkeypatch):
    dcp = "torch.distributed.checkpoint"
    size = _class(monkeypatch, "torch", "Size", tuple)
    size.__reduce__ = lambda self: (size, (tuple(self),))
    names = ("Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "MetadataIndex")
    whole, tensor, chunk, index = (_class(monkeypatch, f"{dcp}.metadata", n) for n in names)
    place = _class(monkeypatch, f"{dcp}.filesystem", "_StorageInfo")
    part = _filled(chunk, offsets=size((0,)), sizes=size((4,)))
    shared = _filled(tensor, size=size((4,)), chunks=[part])
    twice = _filled(tensor, size=size((8,)), chunks=[part, part])
    stored = _filled(place, relative_path="__0_0.distcp", offset=0, length=99)
    content = _filled(
        whole,
        state_dict_metadata={"a": shared, "b": twice},
        storage_data={_filled(index, fqn=n, n=i): stored for i, n in enumerate("abb")},
    )
    promised = parse_metadata(pickle.dumps(content, protocol=4))
    assert (promised.tensors, promised.chunks, promised.uncovered) == (2, 3, ())
    assert promised.needed_bytes == {"__0_0.distcp": 99}
