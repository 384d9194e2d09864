"""Commands that take hosts out of service, ready to be copied. Nothing here runs one. Plain Python.

Names are those that agents reported. Slurm would read brackets and commas in a name as a list, and
a leading "-" would be an option, so only plain names get into a command; the others are named.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

MAX_REASON: Final = 200
_SLURM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}")
_KUBERNETES = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_ADDRESS = re.compile(r"[0-9.]+")
_INDENT: Final = " " * 16


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to copy for some hosts; "" where there is none. left_out: names that fit no command.

    drain, resume, exclude: of Slurm. cordon, uncordon, affinity: of Kubernetes.
    """

    drain: str
    resume: str
    exclude: str
    cordon: str
    uncordon: str
    affinity: str
    left_out: tuple[str, ...]


def prepare(names: Sequence[str], reason: str) -> Prepared:
    """The commands for these hosts, each once and in their order.

    reason: becomes one printable line of at most MAX_REASON characters behind "lastgood: ". Slurm
    gets names without their domain, as its NodeName usually is.
    """
    slurm, no_slurm = _sorted_out(names, _SLURM, _short)
    pods, no_pods = _sorted_out(names, _KUBERNETES, str)
    left_out = tuple(dict.fromkeys([*no_slurm, *no_pods]))
    listed, spaced = ",".join(slurm), shlex.join(pods)
    said = shlex.quote(f"Reason=lastgood: {_line(reason)}")
    update = f"scontrol update NodeName={listed}"
    return Prepared(
        drain=f"{update} State=DRAIN {said}" if slurm else "",
        resume=f"{update} State=RESUME" if slurm else "",
        exclude=f"--exclude={listed}" if slurm else "",
        cordon=f"kubectl cordon {spaced}" if pods else "",
        uncordon=f"kubectl uncordon {spaced}" if pods else "",
        affinity=_affinity(pods) if pods else "",
        left_out=left_out,
    )


def _sorted_out(
    names: Sequence[str], form: re.Pattern[str], called: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """(names as they are called there, names that cannot be called there)."""
    good: dict[str, None] = {}
    bad = []
    for name in names:
        if form.fullmatch(called(name)):
            good[called(name)] = None
        else:
            bad.append(name)
    return list(good), bad


def _short(name: str) -> str:
    """Without its domain; an address stays whole."""
    return name if _ADDRESS.fullmatch(name) else name.partition(".")[0]


def _line(text: str) -> str:
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words[:MAX_REASON] or "taken out of service"


def _affinity(names: Sequence[str]) -> str:
    """A snippet for the template of the pods. Quoted as JSON, which YAML reads; with the name
    without its domain, because either may be the label of the node."""
    both = dict.fromkeys(one for name in names for one in (name, _short(name)))
    values = "\n".join(f"{_INDENT}- {json.dumps(name)}" for name in both)
    return f"""\
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - key: kubernetes.io/hostname
              operator: NotIn
              values:
{values}
"""
