"""Checkpoints in memory, file by file, as frameworks write them: name -> content. Without torch.

The formats are written by hand: a zip of stored entries with a pickle, safetensors with a header.
`ckpt_samples` has the real `.metadata` files that the distributed ones use.
"""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path

from apps.checkpoints.domain import layouts
from apps.checkpoints.domain.checking import check
from apps.checkpoints.domain.dcp_metadata import parse_metadata
from apps.checkpoints.domain.reading import Held
from apps.checkpoints.domain.root import check_root
from apps.checkpoints.domain.tree import FileStat
from tests import ckpt_samples

SAVED_NS = 1_700_000_000_000_000_000
REAL = Path(__file__).parent / "samples" / "ckpt"


def tree(files, times=None):
    """What a listing says of the files; times: seconds after all others were written."""
    late = times or {}
    return {n: FileStat(len(c), SAVED_NS + late.get(n, 0) * 10**9) for n, c in files.items()}


def checked(files, called="", times=None, inventory=None):
    """(reports of the checkpoints in a tree, findings of its root)."""
    listed = tree(files, times)
    steps = layouts.find(listed, called)
    reports = [check(step, Held(files), (inventory or {}).get(step.root_name)) for step in steps]
    return reports, check_root(listed, steps, Held(files))


def codes(files, called="", times=None):
    """All codes that a tree gets, of its checkpoints and of its root."""
    reports, root = checked(files, called, times)
    return {f.code for report in reports for f in report.findings} | {f.code for f in root}


def text(value):
    """A pickled text of protocol 2."""
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def pickled(storages, names=()):
    """A data.pkl: storages as key -> elements of 4 bytes, and names that it refers to."""
    body = b"".join(
        b"("
        + text("storage")
        + b"ctorch\nFloatStorage\n"
        + text(key)
        + text("cpu")
        + b"J"
        + elements.to_bytes(4, "little")
        + b"tQ"
        for key, elements in storages.items()
    )
    named = b"".join(f"c{module}\n{name}\n".encode() for module, name in names)
    return b"\x80\x02](" + body + named + b"e."


def torch_file(storages=None, names=(), *, data=None, leave_out=()):
    """What torch.save writes. storages: key -> elements."""
    storages = {"0": 24, "1": 6} if storages is None else storages
    entries = {"archive/data.pkl": pickled(storages, names) if data is None else data}
    entries |= {f"archive/data/{key}": bytes(4 * n) for key, n in storages.items()}
    entries["archive/version"] = b"3\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in entries.items():
            if name not in leave_out:
                archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def safetensors(tensors, metadata=None, *, content=b"\x01"):
    """A safetensors file of F32 tensors: name -> shape."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, shape in tensors.items():
        size = 4
        for axis in shape:
            size *= axis
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + content * at


def dcp(folder=""):
    """A real `.metadata` with shards that begin and end where it says."""
    return {folder + name: content for name, content in _dcp().items()}


@cache
def _dcp():
    content = ckpt_samples.metadata()
    files = {".metadata": content}
    promised = parse_metadata(content)
    for name, size in promised.needed_bytes.items():
        shard = bytearray(size)
        for item in promised.edges[name]:
            end = item.offset + item.length - 22
            shard[item.offset : item.offset + 4] = b"PK\x03\x04"
            shard[end : end + 4] = b"PK\x05\x06"
        files[name] = bytes(shard)
    return files


def hf_sharded(folder="checkpoint-200/"):
    """HF Trainer: sharded weights with their index, four ranks."""
    shards = {f"model-{k:05d}-of-00003.safetensors": f"layers.{k}.weight" for k in (1, 2, 3)}
    index = {"weight_map": {tensor: file for file, tensor in shards.items()}}
    files = {name: safetensors({tensor: (4, 8)}) for name, tensor in shards.items()}
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    files |= {f"rng_state_{rank}.pth": torch_file({"0": 2}) for rank in range(4)}
    files |= {"optimizer.pt": torch_file(), "scheduler.pt": torch_file({})}
    files["trainer_state.json"] = json.dumps({"global_step": 200}).encode()
    return {folder + name: content for name, content in files.items()}


def dcp_hf(folder="step-500/", ranks=4):
    """Distributed checkpoint as safetensors, one file a rank, 16 rows of each tensor."""
    files = {}
    for rank in range(ranks):
        offsets = {"wq": {"saved_offsets": [16 * rank, 0]}}
        metadata = {"DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(offsets)}
        name = f"{folder}shard-{rank + 1:05d}-model-00001-of-00001.safetensors"
        files[name] = safetensors({"wq": (16, 4)}, metadata)
    return files


def megatron_legacy():
    """Two iterations of TP 2 x PP 2, and the tracker."""
    files = {
        f"iter_000{step}/mp_rank_{tp:02d}_{pp:03d}/{name}": torch_file()
        for step in (1000, 2000)
        for tp in (0, 1)
        for pp in (0, 1)
        for name in ("model_optim_rng.pt", "distrib_optim.pt")
    }
    return files | {"latest_checkpointed_iteration.txt": b"2000"}


def deepspeed():
    """Two steps of ZeRO on four ranks, and the pointer."""
    files = {"latest": b"global_step200\n", "zero_to_fp32.py": b""}
    for step in (100, 200):
        files[f"global_step{step}/mp_rank_00_model_states.pt"] = torch_file()
        for rank in range(4):
            name = f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"
            files[f"global_step{step}/{name}"] = torch_file()
    return files


def olmo_core():
    """Three parts, each with its own mark."""
    files = {"step70/.metadata.json": b'{"version": "v1"}'} | dcp("step70/model_and_optim/")
    return files | {f"step70/train/rank{rank}.pt": torch_file() for rank in range(2)}


def lightning():
    """One file for each step; the real library wrote them."""
    return {path.name: path.read_bytes() for path in sorted((REAL / "lightning").glob("*.ckpt"))}


def orbax():
    """Two steps with two items each; the real library wrote them."""
    root = REAL / "orbax"
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


GOOD = {
    "dcp": lambda: dcp("weights/"),
    "torchtitan": lambda: dcp("step-100/"),
    "megatron": lambda: dcp("iter_0000100/") | {"latest_checkpointed_iteration.txt": b"100"},
    "megatron_legacy": megatron_legacy,
    "deepspeed": deepspeed,
    "hf_trainer": hf_sharded,
    "accelerate": lambda: dcp("c_1/optimizer_0/") | {"c_1/random_states_0.pkl": torch_file()},
    "lightning": lightning,
    "orbax": orbax,
    "olmo_core": olmo_core,
    "nemo": lambda: dcp("m--step=5-last/weights/") | {"m--step=5-last/context/io.json": b"{}"},
    "litgpt": lambda: {"step-00001000/lit_model.pth": torch_file()},
    "dcp_hf": dcp_hf,
    "safetensors": lambda: {"final/model.safetensors": safetensors({"a": (2, 3), "b": ()})},
    "torch_save": lambda: {"step_5.pt": torch_file()},
}
"""Layout -> builder of a tree that is whole."""
