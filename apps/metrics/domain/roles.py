"""Which logged series is the loss, the gradient norm, the learning rate, by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Best first. Names as written by the W&B examples, Hugging Face Trainer, Lightning, Megatron-LM,
# torchtitan, nanoGPT and fairseq, lower-cased, with "_", "-" and " " read as the same.
LOSS = (
    "train/loss",
    "loss",
    "train loss",
    "training loss",
    "train/train loss",
    "lm loss",
    "train/lm loss",
    "lm loss/lm loss",
    "loss/train",
    "train/total loss",
    "loss metrics/global avg loss",
    "train/global avg loss",
    "train/loss step",
    "train loss step",
    "train/cross entropy",
    "train/ce loss",
    "train/cross entropy loss",
    "train/crossentropyloss",
    "reduced train loss",
    "optim/loss",
    "train inner/loss",
    "total loss",
)
GRAD_NORM = (
    "train/grad norm",
    "grad norm",
    "train/gradient norm",
    "gradient norm",
    "gnorm",
    "train/gnorm",
    "global grad norm",
    "train/global grad norm",
    "optim/total grad norm",
    "grad norm/grad norm",
    "train/grad norm step",
    "train inner/gnorm",
)
LEARNING_RATE = (
    "train/lr",
    "lr",
    "learning rate",
    "train/learning rate",
    "optim/lr",
    "optim/learning rate group0",
    "learning rate/learning rate",
    "train/lr step",
    "lr/0",
    "train inner/lr",
    "optimizer/lr",
)
LOSS_SCALE = (
    "train/loss scale",
    "loss scale",
    "train/grad scale",
    "grad scale",
    "loss scale/loss scale",
    "train inner/loss scale",
    "amp/scale",
)
LOCAL_LOSS = ("rank/local loss", "local loss", "rank/loss", "rank loss", "loss/local")

FROM_LOG = "log/"
"""In front of the names of numbers that were read from log lines."""

NOT_MODEL = re.compile(
    r"^(perf|system|time|throughput|data|timing|profil\w*|eval\w*|val\w*|test|_)\b"
    r"|\b(tokens?|epoch|runtime|timestamp|seconds|memory|mem|mfu|flops|samples|consumed|elapsed|tps|tflops)\b"
)
NOT_TRAINING = re.compile(r"\b(val|valid|validation|eval|evaluation|test|dev|rank)\b")


ROLES = ("loss", "grad_norm", "lr", "loss_scale")


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of the series with a known meaning, None if a run does not log it."""

    loss: str | None
    grad_norm: str | None
    lr: str | None
    loss_scale: str | None

    def by_role(self) -> dict[str, str]:
        """role -> name of those that exist."""
        named = {role: getattr(self, role) for role in ROLES}
        return {role: name for role, name in named.items() if name}


def guess(keys: Iterable[str]) -> Roles:
    """The roles of the keys of one run. Deterministic: the order of the keys does not matter.

    Numbers read from log lines (FROM_LOG) are rounded copies: they count only for a role that no
    other series has.
    """
    names = sorted(keys)
    richer = _guess([name for name in names if not name.startswith(FROM_LOG)])
    told = _guess([name.removeprefix(FROM_LOG) for name in names if name.startswith(FROM_LOG)])
    read = {role: FROM_LOG + name for role, name in told.by_role().items()}
    return Roles(**dict.fromkeys(ROLES) | read | richer.by_role())


def _guess(names: list[str]) -> Roles:
    return Roles(
        loss=_pick(names, LOSS),
        grad_norm=_pick(names, GRAD_NORM),
        lr=_pick(names, LEARNING_RATE),
        loss_scale=_pick(names, LOSS_SCALE),
    )


def local_losses(keys: Iterable[str]) -> list[str]:
    """Per-rank series in which one rank may stand apart from all others, best known first.

    Only losses: step times differ between ranks for reasons of their own (see the straggler rule).
    """
    known = {_plain(key): key for key in sorted(keys, reverse=True)}
    return [known[name] for name in LOCAL_LOSS if name in known]


def model_signals(keys: Iterable[str]) -> list[str]:
    """Series that speak of the model, by name: losses, norms, activations, ratios, learning rate.

    Speed, memory, counters and evaluations are left out: they move for reasons of their own.
    So are numbers read from log lines, unless there is nothing else: they repeat other series.
    """
    found = [key for key in sorted(keys) if not NOT_MODEL.search(_plain(_own_name(key)))]
    return [key for key in found if not key.startswith(FROM_LOG)] or found


def _own_name(key: str) -> str:
    return key.removeprefix(FROM_LOG)


def _pick(names: list[str], wanted: tuple[str, ...]) -> str | None:
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(_plain(name), name)
    found = next((plain[want] for want in wanted if want in plain), None)
    return found or _pick_last_part(plain, wanted)


def _pick_last_part(plain: dict[str, str], wanted: tuple[str, ...]) -> str | None:
    """`model/train loss` for `train loss`, but never a validation series."""
    simple = [want for want in wanted if "/" not in want]
    for want in simple:
        for name in sorted(plain):
            head, _, tail = name.rpartition("/")
            if tail == want and head and not NOT_TRAINING.search(head):
                return plain[name]
    return None


def _plain(name: str) -> str:
    return re.sub(r"[\s_\-]+", " ", name.strip().lower())
