"""What training frameworks print about checkpoints: a table of lines. Pure.

To know another framework is to add rows to LINES. A line counts only if it names the step, or a
path that does; the end of a load may name neither.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from apps.checkpoints.domain.steps import MAX_STEP, step_of_name

HINTS: Final = (b"heckpoint", b"saving model to '", b"training from ")
"""Each line of LINES holds one of these; hardly a line of other logs does."""


class Speech(StrEnum):
    """What a line says of a checkpoint."""

    REQUESTED = "requested"
    COMMITTED = "committed"
    LOADING = "loading"
    RESTORED = "restored"
    DELETED = "deleted"


SAVES: Final = (Speech.REQUESTED, Speech.COMMITTED)


@dataclass(frozen=True, slots=True)
class Said:
    """One line about a checkpoint. step, path: None where it says nothing of it.

    doubt: the path and the words name different steps; the path's was taken.
    """

    speech: Speech
    framework: str
    step: int | None
    path: str | None
    at_ns: int
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of line. marker: lower-case text that it holds. says: may have the groups step,
    path and tag (a name that holds the step). below: the directory of the step under `path`."""

    framework: str
    speech: Speech
    marker: str
    says: re.Pattern[str]
    below: str = ""


def _line(framework: str, speech: Speech, marker: str, says: str, below: str = "") -> Line:
    return Line(framework, speech, marker, re.compile(says, re.IGNORECASE), below)


_PATH: Final = r"['\"`]?(?P<path>[^\s'\"`\]]{1,4000})"
_STEP: Final = r"(?P<step>\d{1,18})"
_TAG: Final = r"(?P<tag>[^\s!]{1,300})"
_ITER: Final = "iter_{step:07d}"
_R, _C, _L, _D = Speech.REQUESTED, Speech.COMMITTED, Speech.RESTORED, Speech.DELETED

# Sources: Megatron-LM training/checkpointing.py, Megatron-Bridge and NeMo of the same words;
# DeepSpeed torch_checkpoint_engine.py; transformers trainer.py; torchtitan checkpoint.py; Lightning
# model_checkpoint.py and checkpoint_connector.py; orbax checkpointer.py and atomicity.py; MaxText;
# litgpt pretrain.py. Megatron's timer line says nothing: with --async-save it comes at the request
# (Megatron-LM#1763). torchtitan prints no step when it saves. The last rows are what people write.
LINES: Final = (
    _line("megatron", _C, "successfully saved checkpoint from iteration",
          rf"successfully saved checkpoint from iteration +{_STEP}(?: to {_PATH})?", _ITER),
    _line("megatron", _R, "checkpoint save at iteration",
          rf"scheduled an async checkpoint save at iteration +{_STEP} to {_PATH}", _ITER),
    _line("megatron", _R, "saving checkpoint at iteration",
          rf"saving checkpoint at iteration +{_STEP} to {_PATH}", _ITER),
    _line("megatron", _L, "successfully loaded checkpoint from",
          rf"successfully loaded checkpoint from {_PATH}(?: \[[^\]]{{0,80}}\])?"
          rf" at iteration +{_STEP}",
          _ITER),
    _line("nemo", _R, "scheduled async checkpoint save for",
          rf"scheduled async checkpoint save for {_PATH}"),
    _line("deepspeed", _R, "is about to be saved!", rf"checkpoint {_TAG} is about to be saved!"),
    _line("deepspeed", _C, "is ready now!", rf"checkpoint {_TAG} is ready now!"),
    _line("deepspeed", _R, "saving model checkpoint:", rf"saving model checkpoint: {_PATH}"),
    _line("deepspeed", _L, "] loaded checkpoint from",
          rf"\] loaded checkpoint from {_PATH}"),
    _line("hf_trainer", _R, "saving model checkpoint to", rf"saving model checkpoint to {_PATH}"),
    _line("hf_trainer", _L, "continuing training from global step",
          rf"continuing training from global step {_STEP}"),
    _line("hf_trainer", _D, "deleting older checkpoint",
          rf"deleting older checkpoint \[{_PATH}\] due to"),
    _line("dcp", Speech.LOADING, "loading the checkpoint ",
          rf"loading the checkpoint (?:from {_PATH}|at step {_STEP})"),
    _line("dcp", _L, "finished loading the checkpoint", r"finished loading the checkpoint in \d"),
    _line("dcp", _D, "checkpointer deleted", rf"checkpointer deleted {_PATH} in "),
    _line("dcp", _D, "deleting old checkpoint ", rf"deleting old checkpoint {_PATH}"),
    _line("lightning", _R, "saving model to '",
          rf"global step {_STEP}: [^\n]{{0,500}}saving model to {_PATH}"),
    _line("lightning", Speech.LOADING, "restoring states from the checkpoint",
          rf"restoring states from the checkpoint (?:path )?at {_PATH}"),
    _line("lightning", _L, "restored all states from the checkpoint",
          rf"restored all states from the checkpoint (?:path )?at {_PATH}"),
    _line("orbax", _C, "finished saving checkpoint (finalized tmp dir) to",
          rf"finished saving checkpoint \(finalized tmp dir\) to {_PATH}"),
    _line("orbax", _L, "finished restoring checkpoint in",
          rf"finished restoring checkpoint in [\d.]+ seconds? from {_PATH}"),
    _line("litgpt", _R, "saving checkpoint to", rf"saving checkpoint to {_PATH}"),
    _line("litgpt", _L, "resuming training from", rf"resuming training from {_PATH}"),
    _line("", _R, "saving checkpoint for step",
          rf"saving checkpoint for step {_STEP}(?: (?:to|at) {_PATH})?"),
    _line("", _C, "checkpoint for step", rf"checkpoint for step {_STEP} (?:was )?saved"),
    _line("", _C, "saved", rf"saved (?:[a-z]+ ){{0,2}}checkpoint (?:(?:to|at|in|for|as) )?"
                           rf"(?:step[ =:]+{_STEP}|{_PATH})"),
    _line("", _C, "checkpoint saved",
          rf"checkpoint saved(?: (?:to|at|in))?:? (?:step[ =:]+{_STEP}|{_PATH})"),
    _line("", _L, "loaded", rf"loaded (?:[a-z]+ ){{0,2}}checkpoint (?:from )?{_PATH}"),
)  # fmt: skip
SILENT_ENDS: Final = frozenset(("hf_trainer", "lightning", "litgpt", ""))
"""Frameworks that print when a save begins and not when it ends: nothing is late there."""


def said(lines: Iterable[tuple[int, str]]) -> list[Said]:
    """What lines (time, text) say of checkpoints, in their order, what is repeated only once.

    Of a job each rank may print the same; a file of a checkpoint stands for it.
    """
    read: dict[str, Said | None] = {}
    found: list[Said] = []
    for at_ns, text in lines:
        if text not in read:
            read[text] = said_by(text, at_ns)
        if (one := read[text]) is not None:
            found.append(replace(one, at_ns=at_ns))
    return once(found)


def once(speeches: Iterable[Said]) -> list[Said]:
    """Without what an earlier one says too. What was deleted can be saved and deleted again."""
    found: list[Said] = []
    heard: defaultdict[int | None, set[tuple[Speech, str | None]]] = defaultdict(set)
    for one in speeches:
        of_step, key = heard[one.step], (one.speech, one.path)
        if key in of_step:
            continue
        if one.speech is Speech.DELETED:
            of_step.clear()
        elif one.speech in SAVES:  # a save may name no path, or the same one otherwise
            of_step -= {other for other in of_step if other[0] is Speech.DELETED}
        of_step.add(key)
        found.append(one)
    return found


def said_by(text: str, at_ns: int) -> Said | None:
    """What one line says of a checkpoint; None if it says nothing, or not of which."""
    lower = text.lower()
    for line in LINES:
        if line.marker not in lower:
            continue
        match = line.says.search(text)
        if match is not None:
            return _read(line, match.groupdict(), at_ns)
    return None


def _read(line: Line, groups: dict[str, str | None], at_ns: int) -> Said | None:
    named = _step(groups.get("step"))
    if groups.get("tag"):
        named = step_of_name(groups["tag"] or "")
    path, of_path = _place(groups.get("path"), line)
    if path is not None and of_path is None and line.below and named is not None:
        path = f"{path.rstrip('/')}/{line.below.format(step=named)}"
    step = named if of_path is None else of_path
    if step is None and (line.speech is not Speech.RESTORED or groups.get("path")):
        return None
    doubt = ""
    if named is not None and named != step:
        doubt = f"its path says step {step}, the log line says {named}"
    return Said(line.speech, line.framework, step, path if step is not None else None, at_ns, doubt)


def _step(digits: str | None) -> int | None:
    number = int(digits) if digits else None
    return number if number is not None and number <= MAX_STEP else None


def _place(text: str | None, line: Line) -> tuple[str | None, int | None]:
    """(the path of the checkpoint, the step that it names), cut behind the part that names it.

    A file of a checkpoint stands in it, or one folder below; higher folders name other things, and
    so do those above the directory of the step.
    """
    if not text:
        return None, None
    parts = text.rstrip(".,;").rstrip("/").split("/")
    deep = 1 if line.below else 3
    for at in range(len(parts) - 1, max(-1, len(parts) - 1 - deep), -1):
        step = _named(parts[at], line.framework)
        if step is not None:
            return "/".join(parts[: at + 1]), step
    return "/".join(parts), None


def _named(part: str, framework: str) -> int | None:
    if framework == "orbax" and part.isdecimal() and len(part) <= 18:
        return int(part)
    return step_of_name(part)
