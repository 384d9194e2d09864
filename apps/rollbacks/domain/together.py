"""What has to be restored with the weights, and what has to be skipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Found(StrEnum):
    """Whether a part is in the checkpoint, as far as names of files tell."""

    THERE = "there"
    MISSING = "missing"
    UNKNOWN = "unknown"
    YOURS = "yours"
    """Not part of a checkpoint: somebody has to see to it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that belongs to the state of a training. note: what to see to."""

    name: str
    found: Found
    note: str


@dataclass(frozen=True, slots=True)
class Saved:
    """What is known of a checkpoint. files: () if nobody listed them. samples, tokens: seen up to
    its step, None if not logged. optimizer: as `SavedCheckpoint.optimizer`."""

    step: int
    framework: str
    files: Sequence[str]
    optimizer: bool | None = None
    samples: float | None = None
    tokens: float | None = None


_SPLIT = frozenset({"hf_trainer", "safetensors"})
"""Frameworks that write each part into files of its own, so that a missing one shows."""
_RNG = ("rng_state", "random_states", "rng")
_DATA = ("dataloader", "data_loader", "sampler", "dataset_state", "train_state", "trainer_state",
         "iterator", "consumed")  # fmt: skip
_SCHEDULE = ("scheduler", "trainer_state", "train_state")
_SCALER = ("scaler", "loss_scale")
_EMA = ("ema",)
_TOKENIZER = ("tokenizer", "vocab.", "spiece", "sentencepiece")


def together(saved: Saved, skip: Sequence[tuple[int, int]] = ()) -> tuple[Part, ...]:
    """The parts in the order in which a person checks them; the skip list last."""
    names = [name.lower() for name in saved.files]
    moments = {True: Found.THERE, False: Found.MISSING, None: Found.UNKNOWN}[saved.optimizer]
    return (
        Part("step", Found.THERE, f"the first new step is {saved.step + 1:,}"),
        Part("data position", _found(names, _DATA, saved), _position(saved)),
        Part("random numbers", _found(names, _RNG, saved), "one state a rank: the same number of "
             "ranks, or other batches and other dropout"),
        Part("learning rate", _found(names, _SCHEDULE, saved), "the schedule and the warm-up go on "
             "where they stood; a restart that begins them anew warms up again"),
        Part("optimizer moments", moments, "without them the first hundreds of steps are noisy: "
             "warm up again, at a lower learning rate"),
        Part("loss scale", _found(names, _SCALER, saved, sure=False), "only with fp16"),
        Part("moving average of weights", _found(names, _EMA, saved, sure=False), "only if the run "
             "keeps one"),
        Part("code and configuration", Found.YOURS, "the commit of the attempt that saved it"),
        Part("tokenizer", _found(names, _TOKENIZER, saved, sure=False), "the one of this run, not "
             "the newest"),
        Part("data to skip", Found.YOURS, _skipped(skip)),
    )  # fmt: skip


def _found(names: Iterable[str], words: Sequence[str], saved: Saved, *, sure: bool = True) -> Found:
    if any(word in name.rpartition("/")[2] for name in names for word in words):
        return Found.THERE
    return Found.MISSING if sure and saved.framework in _SPLIT and saved.files else Found.UNKNOWN


def _position(saved: Saved) -> str:
    known = [
        f"{value:,.0f} {word}"
        for value, word in ((saved.samples, "samples"), (saved.tokens, "tokens"))
        if value is not None
    ]
    at = f"at {' and '.join(known)}; " if known else ""
    return f"{at}the state of the data loader fits the same number of data-parallel ranks only"


def _skipped(skip: Sequence[tuple[int, int]]) -> str:
    if not skip:
        return "nothing is asked for: the same batches come again, and with them what they did"
    ranges = ", ".join(f"{first:,} to {last:,}" for first, last in skip)
    return f"steps {ranges}: your data loader has to leave them out"
