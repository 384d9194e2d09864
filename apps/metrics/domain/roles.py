"""Which logged series is the loss, the gradient norm, the learning rate, ... by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

from apps.metrics.domain.layer_statistics import spoken

# Best first. Names as written by the W&B examples, Hugging Face Trainer, Lightning, Megatron-LM,
# Megatron-DeepSpeed, NeMo, GPT-NeoX, torchtitan, OLMo, Composer, Levanter, MaxText, nanotron,
# DeepSpeed, nanoGPT and fairseq, lower-cased, with "_", "-" and " " read as the same.
LOSS = (
    "train/loss",
    "loss",
    "train loss",
    "training loss",
    "train/train loss",
    "lm loss",
    "train/lm loss",
    "lm loss/lm loss",
    "lm loss training/lm loss",
    "reduced train loss",
    "loss/train",
    "loss/train/total",
    "train/total loss",
    "loss metrics/global avg loss",
    "train/global avg loss",
    "train/loss step",
    "train loss step",
    "train/cross entropy",
    "train/crossentropyloss",
    "train/ce loss",
    "train/cross entropy loss",
    "optim/loss",
    "learning/loss",
    "train/samples/train loss",
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
    "grad/norm/total",
    "l2 norm/grad/global",
    "learning/grad norm",
    "grad 2.0 norm total",
    "train/grad norm step",
    "train inner/gnorm",
)
LEARNING_RATE = (
    "train/lr",
    "lr",
    "learning rate",
    "train/learning rate",
    "optim/lr",
    "optim/learning rate",
    "optim/learning rate group0",
    "optim/lr (group 0)",
    "learning rate/learning rate",
    "learning/current learning rate",
    "train/samples/lr",
    "train/lr step",
    "lr/0",
    "lr adamw",
    "lr adamw/pg1",
    "lr decoupledadamw/group0",
    "train inner/lr",
    "optimizer/lr",
)
LOSS_SCALE = (
    "train/loss scale",
    "loss scale",
    "train/grad scale",
    "grad scale",
    "loss scale/loss scale",
    "train/samples/loss scale",
    "train inner/loss scale",
    "amp/scale",
)
LOCAL_LOSS = ("rank/local loss", "local loss", "rank/loss", "rank loss", "loss/local")
STEP_TIME = (
    "perf/step time",
    "step time",
    "perf/iteration time",
    "time/step",
    "perf/step time s",
    "train/step time",
    "iteration time",
    "runtime/iteration time",
    "iteration time/iteration time",
    "perf/step time seconds",
    "train step timing in s",
    "time metrics/end to end(s)",
    "throughput/duration",
)
TOKENS_PER_S = (
    "perf/tokens per s",
    "tokens per s",
    "tokens per second",
    "tokens per sec",
    "train/tokens per second",
    "throughput/tokens per second",
    "throughput/tokens per sec",
    "throughput/device/tokens per second",
    "throughput/device/tps",
    "throughput(tps)",
    "perf/per device tokens per sec",
    "train tokens per second",
    "tok/s",
    "tps",
)
EVAL_LOSS = (
    "eval/loss",
    "val/loss",
    "eval loss",
    "val loss",
    "validation/loss",
    "validation loss",
    "valid/loss",
    "lm loss validation",
    "lm loss validation/lm loss",
    "validation metrics/loss",
    "evaluation/avg loss",
    "loss/eval",
    "loss/val",
    "test/loss",
)

BATCH_SIZE = (
    "batch size",
    "train/batch size",
    "global batch size",
    "train/global batch size",
    "batch size/batch size",
    "data/batch size",
    "train batch size",
    "gbs",
)
SEQUENCE_LENGTH = (
    "sequence length",
    "train/sequence length",
    "seq length",
    "train/seq length",
    "seq len",
    "train/seq len",
    "data/seq len",
    "seqlen/curriculum seqlen",
    "curriculum seqlen",
    "curriculum/seqlen",
    "context length",
    "train/context length",
)
DATA_MIXTURE = (
    "data/stage",
    "data stage",
    "data/phase",
    "data phase",
    "curriculum/stage",
    "curriculum stage",
    "curriculum/difficulty",
    "curriculum difficulty",
    "train/stage",
    "stage",
    "data/mixture",
    "data mixture",
    "mixture",
    "data/dataset",
    "dataset",
    "dataset id",
    "data/source",
)
TOKENS_SEEN = (
    "train/tokens",
    "tokens",
    "tokens seen",
    "train/tokens seen",
    "total tokens",
    "train/total tokens",
    "consumed tokens",
    "num input tokens seen",
    "train/num input tokens seen",
    "throughput/total tokens",
    "time/token",
)
SAMPLES_SEEN = (
    "consumed samples",
    "train/consumed samples",
    "samples seen",
    "train/samples seen",
    "num samples seen",
    "time/sample",
)
EPOCH = ("epoch", "train/epoch", "trainer/epoch", "time/epoch")


@dataclass(frozen=True, slots=True)
class Role:
    """A meaning a series can have. slug: a field of Roles. help: what Lastgood does with it.

    known: its usual names, best first. ranked: a series of single ranks. watched: a detector reads
    it.
    """

    slug: str
    words: str
    help: str
    known: tuple[str, ...]
    ranked: bool = False
    watched: bool = False


ROLES = (
    Role("loss", "training loss", "explosions, drifts and NaN are found in it; rollbacks are judged"
         " by it", LOSS, watched=True),
    Role("grad_norm", "gradient norm", "often moves some steps before the loss", GRAD_NORM,
         watched=True),
    Role("lr", "learning rate", "a change of it explains a jump of the loss", LEARNING_RATE,
         watched=True),
    Role("loss_scale", "loss scale", "repeated halving in fp16 training is an alarm", LOSS_SCALE,
         watched=True),
    Role("batch_size", "batch size", "a change of it explains a shift of the loss", BATCH_SIZE,
         watched=True),
    Role("sequence_length", "sequence length", "a change of it explains a shift of the loss",
         SEQUENCE_LENGTH, watched=True),
    Role("data_mixture", "stage of data or curriculum", "a change of it explains a shift of the"
         " loss", DATA_MIXTURE, watched=True),
    Role("tokens_seen", "tokens seen", "says which data an outlier saw; a change of pace explains a"
         " shift", TOKENS_SEEN, watched=True),
    Role("samples_seen", "samples seen", "says which data an outlier saw", SAMPLES_SEEN,
         watched=True),
    Role("epoch", "epoch", "says which data an outlier saw", EPOCH, watched=True),
    Role("rank_loss", "loss of each rank", "names the one rank that differs from all others",
         LOCAL_LOSS, ranked=True, watched=True),
    Role("eval_loss", "evaluation loss", "a row of the flight deck; a warning when it gets worse,"
         " as for every evaluation", EVAL_LOSS),
    Role("step_time", "step time", "a row of the flight deck; tells what a rollback costs, and"
         " whether the training gets slower", STEP_TIME),
    Role("tokens_per_s", "tokens per second", "a tile of the flight deck; tells whether the"
         " training gets slower", TOKENS_PER_S),
    Role("step_axis", "step", "where the logger counts something else than optimizer steps; Hugging"
         " Face writes train/global_step, Lightning trainer/global_step", ()),
)  # fmt: skip
BY_SLUG = {role.slug: role for role in ROLES}

FROM_LOG = "log/"
"""In front of the names of numbers that were read from log lines."""

NOT_MODEL = re.compile(
    r"^(rank/)?(perf|system|time|throughput|data|timing|profil\w*|eval\w*|val\w*|test|_)\b"
    r"|\b(time|latency|duration|tokens?|epoch|runtime|timestamp|seconds|memory|mem|mfu|flops|samples"
    r"|consumed|elapsed|tps|tflops)\b"
)
NOT_TRAINING = re.compile(r"\b(val|valid|validation|eval|evaluation|test|dev|rank)\b")


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of the series with a known meaning, None if a run does not log it."""

    loss: str | None = None
    grad_norm: str | None = None
    lr: str | None = None
    loss_scale: str | None = None
    batch_size: str | None = None
    sequence_length: str | None = None
    data_mixture: str | None = None
    tokens_seen: str | None = None
    samples_seen: str | None = None
    epoch: str | None = None
    rank_loss: str | None = None
    eval_loss: str | None = None
    step_time: str | None = None
    tokens_per_s: str | None = None
    step_axis: str | None = None

    def by_role(self) -> dict[str, str]:
        """role -> name, of the series of the job that the loss detector reads."""
        return {
            role.slug: name
            for role in ROLES
            if role.watched and not role.ranked and (name := self.of(role.slug))
        }

    def of(self, slug: str) -> str | None:
        """The name that has the role `slug`."""
        name: str | None = getattr(self, slug)
        return name

    def every(self) -> dict[str, str | None]:
        """role -> name of every role."""
        return {field.name: self.of(field.name) for field in fields(self)}


def guess(keys: Iterable[str], rank_keys: Iterable[str] = ()) -> Roles:
    """The roles of the keys of one run, those of single ranks apart. Deterministic: the order of
    the keys does not matter. About 3 us a key.

    Numbers read from log lines (FROM_LOG) are rounded copies: they count only for a role that no
    other series has.
    """
    return _guessed(tuple(sorted(keys)), tuple(sorted(rank_keys)))


@lru_cache(maxsize=32)
def _guessed(names: tuple[str, ...], rank_keys: tuple[str, ...]) -> Roles:
    """Remembered: detectors ask at each look, and the names of a run seldom change."""
    richer = _guess([name for name in names if not name.startswith(FROM_LOG)])
    told = _guess([_own_name(name) for name in names if name.startswith(FROM_LOG)])
    read = {slug: FROM_LOG + name for slug, name in told.items()}
    rank_loss = next(iter(local_losses(rank_keys)), None)
    return Roles(**{**read, **richer, "rank_loss": rank_loss})


def _guess(names: list[str]) -> dict[str, str]:
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(spoken(name), name)
    tails = _by_last_part(plain)
    found = {role.slug: _pick(role, plain, tails) for role in ROLES if not role.ranked}
    return {slug: name for slug, name in found.items() if name}


def resolve(guessed: Roles, said: Mapping[str, str | None], there: Iterable[str]) -> Roles:
    """The roles when people said which series is what. said: role -> name, None: there is none.

    A name that this run does not log (is not in `there`) leaves the guess as it was.
    """
    known = frozenset(there)
    chosen = {
        slug: name for slug, name in said.items() if slug in BY_SLUG and (not name or name in known)
    }
    return Roles(**{**guessed.every(), **chosen})


def local_losses(keys: Iterable[str]) -> list[str]:
    """Per-rank series in which one rank may stand apart from all others, best known first.

    Only losses: step times differ between ranks for reasons of their own (see the straggler rule).
    """
    known = {spoken(key): key for key in sorted(keys, reverse=True)}
    return [known[name] for name in LOCAL_LOSS if name in known]


def model_signals(keys: Iterable[str]) -> list[str]:
    """Series that speak of the model, by name: losses, norms, activations, ratios, learning rate.

    Speed, memory, counters and evaluations are left out: they move for reasons of their own.
    So are numbers read from log lines, unless there is nothing else: they repeat other series.
    """
    found = [key for key in sorted(keys) if not NOT_MODEL.search(spoken(_own_name(key)))]
    return [key for key in found if not key.startswith(FROM_LOG)] or found


def in_words(name: str) -> str:
    """A series in a few words: its last part ("train/local_loss" -> "local loss"), or its role
    where that part alone says nothing ("Loss/train" -> "loss")."""
    plain = spoken(name)
    tail = plain.rpartition("/")[2]
    role = next((role for role in ROLES if plain in role.known), None)
    return tail if role is None or tail in role.known else role.slug.replace("_", " ")


def _own_name(key: str) -> str:
    return key.removeprefix(FROM_LOG)


def _pick(role: Role, plain: Mapping[str, str], tails: Mapping[str, str]) -> str | None:
    found = next((plain[want] for want in role.known if want in plain), None)
    if found or role.slug == "eval_loss":
        return found
    return next((tails[want] for want in role.known if want in tails), None)


def _by_last_part(plain: Mapping[str, str]) -> dict[str, str]:
    """`model/train loss` under `train loss`, but never a validation series."""
    tails: dict[str, str] = {}
    for name in sorted(plain):
        head, _, tail = name.rpartition("/")
        if head and tail not in tails and not NOT_TRAINING.search(head):
            tails[tail] = plain[name]
    return tails
