"""Which framework wrote a checkpoint, told from its name and the names of its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_Names = Sequence[str]


def _has(*endings: str) -> Callable[[str, _Names], bool]:
    """Some file ends like this."""
    return lambda name, names: any(n.endswith(endings) for n in names)


def _below(*folders: str) -> Callable[[str, _Names], bool]:
    """Some file lies in one of these folders."""
    return lambda name, names: any(n.startswith(folders) for n in names)


def _called(pattern: str) -> Callable[[str, _Names], bool]:
    """The step itself is called like this."""
    found = re.compile(pattern)
    return lambda name, names: found.fullmatch(name) is not None


_ORBAX = _has("_CHECKPOINT_METADATA")
_OLMO = _below("model_and_optim/", "train/rank")
_DCP = _has(".metadata", ".distcp")

_RULES: tuple[tuple[str, Callable[[str, _Names], bool]], ...] = (
    ("maxtext", lambda name, names: _ORBAX(name, names) and _below("items/")(name, names)),
    ("orbax", _ORBAX),
    ("lightning", _called(r".+\.ckpt")),
    ("deepspeed", _called(r"global_step\d+")),
    ("megatron", _called(r"iter_\d{7,}")),
    ("hf_trainer", _called(r"checkpoint-\d+")),
    ("nemo", _called(r".*(consumed_samples=|--.*step=).*")),
    ("olmo_core", lambda name, names: _called(r"step\d+")(name, names) and _OLMO(name, names)),
    ("litgpt", _has("lit_model.pth")),
    ("torchtitan", _called(r"step-\d+")),
    ("olmo_core", _called(r"step\d+")),
    ("dcp", _DCP),
)


def framework_of(uri: str, names: Sequence[str] = ()) -> str:
    """One of `plans.FRAMEWORKS`; "plain" where nothing is known.

    uri: of the step. names: of its files, relative; without them the name of the step decides.
    """
    name = uri.rstrip("/").rpartition("/")[2]
    return next((framework for framework, fits in _RULES if fits(name, names)), "plain")
