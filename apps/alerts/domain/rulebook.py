"""What a person may write into a rule."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from apps.alerts.domain.routing import Rule
from apps.core.errors import AppError
from apps.core.records import FindingSeverity

SEVERITIES: Final = (FindingSeverity.PAGE, FindingSeverity.WARN)
"""Those that are sent; information stays on the pages."""
KINDS: Final = {
    "explosion": "loss explosion",
    "nonfinite": "NaN or infinity",
    "slow_divergence": "slow divergence",
    "level_shift": "level shift",
    "loss_drop": "loss drop",
    "plateau": "plateau",
    "missing_loss": "missing loss",
    "loss_scale_collapse": "loss scale collapse",
    "outlier": "one-row outlier",
    "precursor": "early sign",
    "layer_trend": "trend of a layer",
    "rank_outlier": "one rank apart",
    "band_departure": "left the band of its reference",
    "eval_regression": "evaluation regression",
    "straggler": "slow rank",
    "silent_rank": "silent rank",
    "throughput_drop": "throughput drop",
    "failure": "failed job",
    "no_contact": "no contact",
    "wrong_start": "started at the wrong place",
    "wrong_folder": "saves into the wrong directory",
    "save_failed": "checkpoint not saved",
    "save_late": "checkpoint late",
    "save_slow": "checkpoint slow",
    "storage_full": "storage full",
    "checkpoints_few": "too few checkpoints",
    "checkpoint_lost": "checkpoint lost",
    "pointer_wrong": "resume pointer wrong",
    "storage_risky": "storage not safe",
    "storage_unseen": "storage not seen",
    "save_trend": "saves take longer",
    "script_alert": "alert of the training script",
}
"""Kinds of incidents a rule may name, in the order of the form; the API takes others, too."""
_KIND = re.compile(r"[a-z][a-z0-9_]{0,49}")
_MOST: Final = {"name": 100, "project": 200, "tag": 200, "owner": 200}


def checked(asked: Rule, channels: Collection[int]) -> Rule:
    """The rule without stray blanks; AppError names the field at fault. channels: that exist."""
    rule = replace(asked, **{field: getattr(asked, field).strip() for field in _MOST})
    for field, most in _MOST.items():
        text = getattr(rule, field)
        if len(text) > most or not text.isprintable():
            raise AppError(f"up to {most} printable characters", where=field)
    if not rule.name:
        raise AppError("a rule needs a name", where="name", hint="such as: night shift")
    if not rule.severities or not rule.severities <= set(SEVERITIES):
        raise AppError(
            "a rule names the severities it sends", where="severities", hint="page, warn or both"
        )
    odd = sorted(kind for kind in rule.kinds if not _KIND.fullmatch(kind))
    if odd or len(rule.kinds) > 50:
        raise AppError("these are no kinds of incidents", where="kinds", hint=", ".join(KINDS))
    unknown = sorted(set(rule.channels) - set(channels))
    if unknown:
        raise AppError(f"there is no channel {unknown[0]}", where="channels")
    if not rule.channels and not rule.everybody:
        raise AppError("a rule leads somewhere", where="channels", hint="choose a channel")
    return replace(rule, channels=tuple(sorted(set(rule.channels))))
