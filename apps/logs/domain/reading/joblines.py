"""Lines in which a training framework tells the numbers of the whole job: a table of formats.

Each format is one row of FORMATS; to know another framework is to add one. Plain Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final

from apps.core.records import MetricRow
from apps.logs.domain.reading.carry import OpenBlock

MAX_VALUES = 200
MAX_KEPT_CHARS = 4_000
"""Of a line whose shape is kept in memory. Longer ones are rare, and may be 64 KiB each."""
_STEPS: Final = ("step", "global_step")
_SHAPED: Final = str.maketrans("123456789", "0" * 9)
# Bounded, with one way to read any text: a line of digits must not cost its length squared.
_DIGITS = (
    r"[-+]?(?:\d[\d,]{0,30}(?:\.\d{0,30})?(?:[eE][-+]?\d{1,4})?|\.\d{1,30}|nan|NaN|inf|Infinity)"
)
_PLAIN = f"({_DIGITS})"
_NUMBER = _PLAIN + r"(?![\w.])"


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """How one framework writes. Each is itself and no other.

    family: formats that the same process prints. rare: a character of all its lines that few
    other logs hold, "" if there is none. marker: text that all its lines hold and few others.
    step: finds the step (group 1). value: finds name and number. under: put before the names.
    renamed: names that say too little on their own. block: the values stand in the indented lines
    below.
    """

    family: str
    rare: str
    marker: str
    step: re.Pattern[str]
    value: re.Pattern[str]
    under: str = ""
    renamed: dict[str, str] = field(default_factory=dict)
    block: bool = False


@dataclass(frozen=True, slots=True)
class JobRow:
    """Numbers of the whole job as line number `line` of a segment told them."""

    line: int
    family: str
    row: MetricRow


# Sources: Megatron-LM training_log; DeepSpeed engine.py and pipe/engine.py; torchtitan metrics.py;
# nanoGPT and modded-nanogpt train scripts; llm.c train_gpt2.cu; litgpt pretrain.py; NeMo 2
# progress printer; OLMo train.py; Hugging Face PrinterCallback.
FORMATS: Final = (
    Format(
        "megatron",
        "|",
        "elapsed time per iteration (",
        re.compile(r"\biteration +(\d{1,12})\s*/"),
        re.compile(r"\| *([A-Za-z][^|:]{0,80}?): *" + _NUMBER + r" *(?=\|)"),
        renamed={"lm-loss": "lm loss"},
    ),
    Format(
        "megatron",
        "|",
        "loss at iteration",
        re.compile(r"\b(?:validation|valid) loss at iteration (\d{1,12})"),
        re.compile(r"\| *([A-Za-z][^|:]{0,80}?): *" + _NUMBER + r" *(?=\|)"),
        under="validation/",
    ),
    Format(
        "deepspeed",
        "",
        ", skipped=",
        re.compile(r"\bstep=(\d{1,12}), skipped="),
        re.compile(r"\b(skipped|lr)=\[?" + _PLAIN),
        renamed={"skipped": "skipped steps"},
    ),
    Format(
        "deepspeed",
        "",
        "iter time (s):",
        re.compile(r"\bsteps: (\d{1,12})\b"),
        re.compile(r"(loss|iter time \(s\)|samples/sec): *" + _PLAIN),
    ),
    Format(
        "deepspeed",
        "",
        "RunningAvgSamplesPerSec=",
        re.compile(r"\bglobal_step=(\d{1,12})\b"),
        re.compile(r"\b(RunningAvgSamplesPerSec|CurrSamplesPerSec)=" + _PLAIN),
    ),
    Format(
        "torchtitan",
        "%",
        "validate step:",
        re.compile(r"\bvalidate step: *(\d{1,12})\b"),
        re.compile(r"\b(loss|tps): +" + _PLAIN),
        under="validation/",
    ),
    Format(
        "torchtitan",
        "%",
        "%)  tps: ",
        re.compile(r"\bstep: *(\d{1,12})  "),
        re.compile(r"\b(loss|grad_norm|tps|tflops|mfu): +" + _PLAIN),
        renamed={"mfu": "mfu (%)"},
    ),
    Format(
        "nemo",
        "|",
        "| global_step: ",
        re.compile(r"\bglobal_step: (\d{1,12})\b"),
        re.compile(r"\| *([A-Za-z][^|:]{0,80}?): *" + _NUMBER + r" *(?=\||$)"),
    ),
    Format(
        "huggingface",
        "'",
        "'epoch': ",
        re.compile(r"'(?:global_)?step': '?(\d{1,12})\b"),
        re.compile(r"'([\w/.-]{1,100})': '?" + _PLAIN + r"'?(?=[,}])"),
    ),
    Format(
        "nanogpt",
        "",
        ": train loss ",
        re.compile(r"\bstep (\d{1,12}): train loss"),
        re.compile(r"\b(train loss|val loss) " + _PLAIN),
        under="eval/",
    ),
    Format(
        "nanogpt",
        "%",
        "ms, mfu ",
        re.compile(r"\biter (\d{1,12}): loss"),
        re.compile(r"\b(loss|time|mfu) " + _PLAIN),
        renamed={"time": "iteration time (ms)", "mfu": "mfu (%)"},
    ),
    Format(
        "nanogpt",
        "",
        " step_avg:",
        re.compile(r"\bstep:(\d{1,12})/"),
        re.compile(r"\b(train_loss|val_loss|step_avg):" + _PLAIN),
        renamed={"step_avg": "step time (ms)"},
    ),
    Format(
        "llmc",
        "|",
        " tok/s",
        re.compile(r"\bstep +(\d{1,12})/ *\d+ \|"),
        re.compile(r"\| *(loss|train loss|norm|lr) " + _PLAIN),
        renamed={"norm": "grad norm"},
    ),
    Format(
        "llmc",
        "",
        " trl:",
        re.compile(r"^s:(\d{1,12})\b"),
        re.compile(r"\b(trl|lr|norm):" + _PLAIN),
        renamed={"trl": "train loss", "norm": "grad norm"},
    ),
    Format(
        "llmc",
        "",
        " tel:",
        re.compile(r"^s:(\d{1,12})\b"),
        re.compile(r"\b(tel):" + _PLAIN),
        renamed={"tel": "val loss"},
    ),
    Format(
        "litgpt",
        "|",
        "| loss train: ",
        re.compile(r"\bstep (\d{1,12}) +\|"),
        re.compile(r"\b(loss train|val|iter time): *" + _PLAIN),
        renamed={"loss train": "train loss", "val": "val loss", "iter time": "iter time (ms)"},
    ),
    Format(
        "olmo",
        "",
        ",epoch=",
        re.compile(r"\[step=(\d{1,12})[/,\]]"),
        re.compile(r"^ {2,}([A-Za-z][^=\s]{0,100}(?: [^=\s]{1,40}){0,3})=" + _PLAIN + r"$"),
        block=True,
    ),
)
_MARKERS: Final = tuple((each, each.rare.encode(), each.marker.encode()) for each in FORMATS)


def formats_in(data: bytes) -> list[Format]:
    """The formats that may stand in the bytes of a segment; usually none. About 3 ms a MB: one
    character is looked for thirty times as fast as a text."""
    return [each for each, rare, marker in _MARKERS if rare in data and marker in data]


def told_by(body: str) -> int:
    """The formats whose marker a message has: bit n for FORMATS[n]."""
    return sum(1 << at for at, each in enumerate(FORMATS) if each.marker in body)


@dataclass(frozen=True, slots=True)
class JobLines:
    """Rows in order of lines. unplaced: lines of a known format that told no step. block: the
    block that the last lines belong to, which the next segment may go on with."""

    rows: list[JobRow]
    unplaced: int
    block: OpenBlock | None


def job_rows(
    bodies: Sequence[str],
    times_ns: Sequence[int],
    formats: Sequence[Format],
    block: OpenBlock | None = None,
) -> JobLines:
    """What the lines of a segment tell of the job.

    bodies: messages of its lines. times_ns: their times. block: what the segment before left open.
    """
    rows: list[JobRow] = []
    unplaced = 0
    current = _resumed(block)
    for line, body in enumerate(bodies):
        if current is not None:
            values = _values(current.known, body)
            if values:
                current = _extend(rows, current, values, line)
                continue
            current = None
        known = next((each for each in formats if each.marker in body), None)
        if known is None:
            continue
        step = _step(known, body)
        if step is None:
            unplaced += is_unplaced(known, body)
        elif known.block:
            current = _Block(known, step, line, times_ns[line])
        elif values := _values(known, body):
            rows.append(JobRow(line, known.family, MetricRow(step, times_ns[line], values)))
    left = None if current is None else OpenBlock(current.known.marker, current.step, current.at_ns)
    return JobLines(rows, unplaced, left)


def is_unplaced(known: Format, body: str) -> bool:
    """Whether a line of a format tells numbers but no step."""
    return known.family == "huggingface" and "'loss'" in body and _step(known, body) is None


def row_of(known: Format, body: str, time_ns: int) -> MetricRow | None:
    """What one line of a format that is no block tells; None if it tells nothing or no step."""
    find = kept_layout if len(body) <= MAX_KEPT_CHARS else _layout
    layout = find(known, body.translate(_SHAPED))
    return None if layout is None else layout.row(body, time_ns)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the lines of one shape tell what: places (start, end) of the step, and of each number
    with its name, or the place of the name where the name has digits. loss_is_told: see
    _say_missing_loss()."""

    known: Format
    step: tuple[int, int]
    values: tuple[tuple[str | tuple[int, int], int, int], ...]
    loss_is_told: bool

    def row(self, body: str, time_ns: int) -> MetricRow:
        """What a line of this shape tells."""
        values = {}
        for name, start, end in self.values:
            said = name if isinstance(name, str) else _name(self.known, body[slice(*name)])
            values[said] = _number(body[start:end])
        if not self.loss_is_told:
            _say_missing_loss(values)
        return MetricRow(int(body[slice(*self.step)]), time_ns, values)


def _layout(known: Format, shape: str) -> _Layout | None:
    """The layout of lines of a format with this shape; None if they tell nothing or no step.

    Formats ask whether a character is a digit, never which one: what is found in the shape is found
    in every line of it at the same place.
    """
    step = known.step.search(shape)
    if step is None:
        return None
    places: list[tuple[str | tuple[int, int], int, int]] = []
    for found in islice(known.value.finditer(shape), MAX_VALUES):
        name = found[1]
        if name not in _STEPS:
            told = _name(known, name) if "0" not in name else found.span(1)
            places.append((told, *found.span(2)))
    lost = known.family == "megatron" and not known.under and shape.rstrip().endswith("|")
    told_loss = any(isinstance(name, str) and _is_loss(name) for name, _, _ in places)
    whole = told_loss or not lost
    return _Layout(known, step.span(1), tuple(places), whole) if places else None


kept_layout = lru_cache(maxsize=2_048)(_layout)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of values. line: where its row stands; None before its first line in this segment."""

    known: Format
    step: int
    line: int | None
    at_ns: int


def _resumed(block: OpenBlock | None) -> _Block | None:
    if block is None:
        return None
    known = next((each for each in FORMATS if each.block and each.marker == block.marker), None)
    return None if known is None else _Block(known, block.step, None, block.time_ns)


def _extend(rows: list[JobRow], block: _Block, values: dict[str, float], line: int) -> _Block:
    """Values of a further line of a block; its row stands at the line the block began with, or at
    its first line in this segment, and has the time of the block."""
    start = line if block.line is None else block.line
    before: dict[str, float] = {}
    if rows and rows[-1].line == start:
        before = dict(rows.pop().row.values)
    both = before | values if len(before) < MAX_VALUES else before
    rows.append(JobRow(start, block.known.family, MetricRow(block.step, block.at_ns, both)))
    return _Block(block.known, block.step, start, block.at_ns)


def _step(known: Format, body: str) -> int | None:
    found = known.step.search(body)
    return int(found[1]) if found is not None else None


def _values(known: Format, body: str) -> dict[str, float]:
    """name -> number, names below "log/". The step is no value of its own."""
    values = dict[str, float]()
    for name, text in known.value.findall(body)[:MAX_VALUES]:
        if name not in _STEPS:
            values[_name(known, name)] = _number(text)
    if known.family == "megatron" and not known.under and body.rstrip().endswith("|"):
        _say_missing_loss(values)
    return values


def _name(known: Format, name: str) -> str:
    return f"log/{known.under}{known.renamed.get(name, name)}"


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _say_missing_loss(values: dict[str, float]) -> None:
    """Megatron leaves the loss out when it is not above zero: NaN, or every iteration skipped.

    A skip by the loss scaler alone is normal in fp16 and says nothing of the loss; anything else
    is a loss that is not a number. A line that does not end with a bar was wrapped: its loss is in
    the next one.
    """
    if not values or any(_is_loss(name) for name in values):
        return
    skipped = values.get("log/number of skipped iterations", 0) > 0
    lost = values.get("log/number of nan iterations", 0) > 0
    if lost or not skipped or not math.isfinite(values.get("log/grad norm", 0.0)):
        values["log/lm loss"] = math.nan


def _is_loss(name: str) -> bool:
    return name.endswith("loss")
