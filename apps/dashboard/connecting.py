"""How a training job is connected: the commands that a person copies, and what has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from apps.runs import store as runs

_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Way:
    """One way to send. command: lines for a shell, whole and in order."""

    slug: str
    title: str
    why: str
    command: str


def ways(url: str, token: str | None) -> list[Way]:
    """The ways, the one that changes least first. url: where people reach Lastgood. token: one that
    was made just now; None: the commands name a variable instead."""
    secret = token or "$TOKEN"
    post = f'curl --fail -H "Authorization: Bearer {secret}" \\\n  {url}/api/v1/runs/my-run'
    return [
        Way(
            "wandb",
            "The script logs to Weights & Biases",
            "It stays as it is: two variables where the training starts.",
            f"export WANDB_BASE_URL={url}\nexport WANDB_API_KEY={secret}",
        ),
        Way(
            "agent",
            "The job writes files",
            "The agent follows logs, consoles, TensorBoard and CSV files on each node, and spools "
            "while Lastgood is away.",
            f"printf %s {secret} > lastgood.token\n"
            f"python -m workers.tailer --run my-run --url {url} --token-file lastgood.token \\\n"
            "  --state /var/lib/lastgood --logs '/logs/{run}/{attempt}/rank_{rank}.log'",
        ),
        Way(
            "post",
            "Anything that can post",
            "One row and one log line, by hand.",
            f"{post}/metrics \\\n"
            """  -d '{"rows": [{"step": 1, "values": {"train/loss": 2.5}}]}'\n"""
            f"{post}/lines \\\n"
            """  -H 'Content-Type: application/x-ndjson' """
            """-d '{"message": "step 1 loss 2.5", "rank": 0}'""",
        ),
    ]


def waiting_for(after: int, token: str | None = None) -> dict[str, Any]:
    """What the steps show. after: only a run with a larger id is the one that is waited for."""
    fresh = [run for run in runs.list_runs(_LOOKED_AT) if run.id > after]
    return {
        "after": after,
        "token": token,
        "ways": ways(settings.PUBLIC_URL, token),
        "arrived": next((run for run in reversed(fresh) if run.last_step is not None), None),
        "announced": fresh[-1] if fresh else None,
    }
