"""What other teams did in such a case. Only what their own public logs and papers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.incidents.domain.shape import Shape


@dataclass(frozen=True, slots=True)
class Practice:
    """One thing that one team did.

    did: a clause that ends a sentence. source: what to look up. url: "" if there is none to name.
    shapes, causes: where it fits; () means any. move: the advice it supports.
    """

    team: str
    did: str
    source: str
    url: str
    move: str
    shapes: tuple[Shape, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def cited(self) -> str:
        """ "BLOOM-176B waited about 30 steps and the spike healed (tr11 chronicles)"."""
        return f"{self.team} {self.did} ({self.source})"


_GITHUB = "https://github.com/"
_SUDDEN = (Shape.DIVERGENCE, Shape.NONFINITE, Shape.LEVEL_SHIFT)
_SPIKES = (Shape.HEALED, Shape.OUTLIER, Shape.DIVERGENCE)

KNOWN = (
    Practice(
        "BLOOM-176B",
        "waited: a spike from 2.2 to 5.1, announced by the gradient norm 4 steps before, healed"
        " in about 30 steps without a rollback",
        "BigScience, tr11-176B chronicles",
        _GITHUB + "bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md",
        "wait",
        (*_SPIKES, Shape.EARLY_SIGN),
    ),
    Practice(
        "IDEFICS-80B",
        "waited at an instant spike and rolled back when the loss had diverged slowly for 3 hours;"
        " the first checkpoint was not far enough back",
        "Hugging Face m4-logs, tr-190-80b chronicles",
        _GITHUB + "huggingface/m4-logs/blob/master/tr-190-80b/chronicles.md",
        "roll back",
        (Shape.SLOW_DIVERGENCE, Shape.LEVEL_SHIFT, Shape.PLATEAU),
    ),
    Practice(
        "PaLM 540B",
        "restarted about 100 steps before each spike and skipped 200 to 500 batches; it did not"
        " come back, and the same batches did no harm to another state",
        "PaLM, arXiv 2204.02311, section on training instability",
        "https://arxiv.org/abs/2204.02311",
        "roll back",
        (Shape.DIVERGENCE, Shape.NONFINITE),
        ("data",),
    ),
    Practice(
        "GLM-130B",
        "went back 50 to 100 steps, skipped 200 steps of data where it came back, and saved every"
        " 100 steps instead of 500 from then on",
        "GLM-130B training log",
        _GITHUB + "THUDM/GLM-130B/blob/main/logs/main-log-en.md",
        "roll back",
        _SUDDEN,
    ),
    Practice(
        "OPT-175B",
        "went back to an earlier checkpoint with a lower learning rate and tighter clipping when"
        " the loss scale hit its floor or the gradient overflowed",
        "Meta, OPT chronicles",
        _GITHUB + "facebookresearch/metaseq/tree/main/projects/OPT/chronicles",
        "fix first",
        _SUDDEN,
        ("numerics", "optimizer", "learning_rate"),
    ),
    Practice(
        "IDEFICS-80B",
        "went back with the learning rate cut by 25 %, later by half and to a quarter",
        "Hugging Face m4-logs, tr-190-80b chronicles",
        _GITHUB + "huggingface/m4-logs/blob/master/tr-190-80b/chronicles.md",
        "fix first",
        (),
        ("optimizer", "learning_rate"),
    ),
    Practice(
        "BigScience 104B",
        "found its loss scale falling 2,000 steps before the divergence; a reset optimizer state"
        " diverged at once",
        "BigScience, tr8b-104B chronicles",
        _GITHUB + "bigscience-workshop/bigscience/blob/master/train/tr8b-104B/chronicles.md",
        "fix first",
        (),
        ("numerics", "resume"),
    ),
    Practice(
        "Marin 32B",
        "relapsed after swapping the optimizer and after rebuilding its state; a change of the"
        " model (QK-norm) with a new warm-up cured it",
        "Marin 32B retrospective",
        _GITHUB + "marin-community/marin/blob/main/docs/reports/marin-32b-retro.md",
        "fix first",
        (),
        ("change", "resume", "optimizer"),
    ),
    Practice(
        "ByteDance",
        "checks the machines when a NaN has no culprit, and evicts hosts before it resumes",
        "ByteRobust, arXiv 2509.16293",
        "https://arxiv.org/abs/2509.16293",
        "roll back",
        (),
        ("hardware", "failure"),
    ),
    Practice(
        "OLMo",
        "skips the step instead of rolling back when loss or gradient norm is 6 standard deviations"
        " out, and filters repeated n-grams from the data",
        "OLMo-core, skip_step_optimizer.py",
        _GITHUB + "allenai/OLMo-core",
        "wait",
        (Shape.HEALED, Shape.OUTLIER, Shape.EARLY_SIGN),
        ("data",),
    ),
    Practice(
        "LLM360 K2-65B",
        "restarted at the checkpoint where the spike began, after it had lasted 34 checkpoints",
        "LLM360/K2-Spike-1",
        "https://huggingface.co/LLM360/K2-Spike-1",
        "roll back",
        (Shape.DIVERGENCE, Shape.SLOW_DIVERGENCE, Shape.LEVEL_SHIFT),
    ),
)


def practice_for(
    move: str, shape: Shape, cause: str, known: Sequence[Practice] = KNOWN
) -> Practice | None:
    """The practice that fits best; None if nobody is known to have done this in such a case.

    It must support the move. One that names the cause comes before one that names the shape.
    """
    fitting = [p for p in known if p.move == move and _fits(p, shape, cause)]
    return max(fitting, key=lambda p: (cause in p.causes, shape in p.shapes), default=None)


def _fits(practice: Practice, shape: Shape, cause: str) -> bool:
    if practice.causes and cause not in practice.causes:
        return False
    return not practice.shapes or shape in practice.shapes
