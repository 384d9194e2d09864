"""Result files in the shapes that lm-evaluation-harness 0.4.13 and LightEval 0.13.0 write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from apps.checkpoints import services
from apps.core.records import CheckpointSeen
from tests.factories import T0_NS


def lm_eval(**changed: Any) -> dict[str, Any]:
    """A group of two subtasks, a single task with two filters, and what stands beside them."""
    return {
        "results": {
            "mmlu": {"name": "mmlu", "alias": "mmlu", "acc,none": 0.61, "acc_stderr,none": 0.004,
                     "sample_len": 200, "sample_count": {"acc,none": 200}},
            "mmlu_law": {"alias": " - law", "acc,none": 0.5, "acc_stderr,none": 0.03},
            "mmlu_maths": {"alias": " - maths", "acc,none": 0.7, "acc_stderr,none": "N/A"},
            "gsm8k": {"alias": "gsm8k", "sample_len": 1319, "exact_match,strict-match": 0.3,
                      "exact_match_stderr,strict-match": 0.01,
                      "exact_match,flexible-extract": 0.35,
                      "exact_match_stderr,flexible-extract": float("nan")},
            "wikitext": {"alias": "wikitext", "word_perplexity,none": 12.5,
                         "word_perplexity_stderr,none": "N/A"},
            "broken": {"alias": "broken", "acc,none": float("nan")},
        },
        "groups": {"mmlu": {"acc,none": 0.61}},
        "group_subtasks": {"mmlu": ["mmlu_law", "mmlu_maths"], "gsm8k": []},
        "higher_is_better": {"mmlu": {"acc": True}, "mmlu_law": {"acc": True},
                             "mmlu_maths": {"acc": True}, "gsm8k": {"exact_match": True},
                             "wikitext": {"word_perplexity": False}, "broken": {"acc": True}},
        "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}},
        "config": {"model": "hf", "model_args": "pretrained=/ckpt/run/step-900,dtype=bfloat16"},
        "lm_eval_version": "0.4.13",
        "model_name": "/ckpt/run/step-900",
    } | changed  # fmt: skip


def lighteval(**changed: Any) -> dict[str, Any]:
    """A family of two with its average, a task of its own, and the mean of all."""
    accuracy = {"metric_name": "acc", "higher_is_better": True}
    return {
        "config_general": {"lighteval_sha": "?", "model_name": "/ckpt/run/iter_0001200",
                           "model_config": {"model_name": "/ckpt/run/iter_0001200"}},
        "results": {
            "mmlu:law|5": {"acc": 0.5, "acc_stderr": 0.05},
            "mmlu:maths|5": {"acc": 0.7, "acc_stderr": 0.05},
            "wikitext|0": {"ppl": 12.5, "ppl_stderr": float("nan")},
            "mmlu:_average|5": {"acc": 0.6, "acc_stderr": 0.05},
            "all": {"acc": 0.6, "acc_stderr": 0.05, "ppl": 12.5, "ppl_stderr": float("nan")},
        },
        "versions": {"mmlu:law|5": 0},
        "config_tasks": {
            "mmlu:law|5": {"name": "mmlu:law", "metrics": [accuracy]},
            "mmlu:maths|5": {"name": "mmlu:maths", "metrics": [accuracy]},
            "wikitext|0": {"metrics": [{"metric_name": ["ppl"],
                                        "higher_is_better": {"ppl": False}}]},
        },
        "summary_tasks": {},
        "summary_general": {},
    } | changed  # fmt: skip


def written(found: dict[str, Any]) -> bytes:
    """As both tools write it: NaN is a bare word."""
    return json.dumps(found, indent=2).encode()


PROGRAM = """#!/bin/sh
# What an evaluation tool does: loads, prints, writes its result file into a folder of the model.
set -e
echo "evaluating $1 into $2"
test -z "$DATABASE_URL"
mkdir -p "$2/ckpt__step-$LASTGOOD_STEP"
cp "$0.json" "$2/ckpt__step-$LASTGOOD_STEP/results_2026-11-30T10-00-00.000000.json"
"""


def program(folder: Path) -> str:
    """An executable that "evaluates": its result is in the file beside it."""
    path = folder / "evaluate"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    (folder / "evaluate.json").write_bytes(written(lm_eval()))
    return str(path)


def checkpoint(run_id: int, step: int, *, attempt: int = 0, at_ns: int = T0_NS, **more: Any) -> str:
    """A committed checkpoint of a run; its path."""
    path = more.get("path", f"/ckpt/step-{step}")
    files = {".metadata": 10, "__0_0.distcp": more.get("shard_bytes", 100)}
    seen = CheckpointSeen(step, path, at_ns, 1.0, files)
    services.record(run_id, attempt, [seen])
    return path
