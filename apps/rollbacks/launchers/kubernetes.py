"""Kubernetes by its API: the Job or JobSet that runs is suspended, and one like it follows.

A new object, because the template of a Job cannot be changed. It has a name made from the order:
whoever makes it again is told that it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.core.errors import AppError
from apps.rollbacks.domain import kubernetes
from apps.rollbacks.domain.handover import Effect, Errand, Facts, Look, Outcome, Seen, Word
from apps.rollbacks.domain.kubernetes import KubernetesConfig
from apps.rollbacks.launchers.http import Api

_PATHS: Final = {"job": "batch/v1", "jobset": "jobset.x-k8s.io/v1alpha2"}
_MERGE: Final = "application/merge-patch+json"


class Kubernetes:
    """One run's Job or JobSet."""

    def __init__(self, config: KubernetesConfig, api: Api) -> None:
        self._config, self._api = config, api
        group = _PATHS[config.resource]
        self._path = f"/apis/{group}/namespaces/{config.namespace}/{config.resource}s"
        self._steps: Mapping[str, Callable[[Errand], Outcome]] = {
            "find": self._find, "try": self._try, "cordon": self._cordon, "stop": self._stop,
            "ended": self._ended, "submit": self._submit,
        }  # fmt: skip

    def plan(self, errand: Errand) -> tuple[Effect, ...]:
        """Find, try, cordon, stop, wait, submit."""
        kind = {"job": "Job", "jobset": "JobSet"}[self._config.resource]
        root, nodes = self._config.name, ", ".join(errand.exclude_nodes)
        name = kubernetes.name_of(root, errand)
        without = f", never on {nodes}" if nodes else ""
        cordon = f"cordon {nodes}: no new pod gets these nodes any more"
        return (
            Effect("find", f"look for the {kind} of {root} in {self._config.namespace}"),
            Effect("try", f"ask Kubernetes whether it would take {name}"),
            *([Effect("cordon", cordon)] if self._config.cordon and nodes else []),
            Effect("stop", f"suspend the {kind} that runs; it stays, for its logs"),
            Effect("ended", "wait until its pods have ended"),
            Effect("submit", f"create {name} with the resume point in its environment{without}"),
        )

    def before(self, key: str, errand: Errand) -> Facts:
        """Nothing: names say whether a step has happened."""
        return {}

    def start(self, key: str, errand: Errand) -> Outcome:
        """See `Launcher.start`."""
        try:
            return self._steps[key](errand)
        except AppError as error:
            return Outcome(Word.FAILED, text=str(error))

    def look(self, key: str, errand: Errand, before: Facts) -> Look:
        """Every step may be repeated: suspending twice is suspending, a name is taken once."""
        return Look(Seen.NO)

    def launch(self, errand: Errand) -> str:
        """kubernetes-NAME."""
        return f"kubernetes-{kubernetes.name_of(self._config.name, errand)}"

    def _find(self, errand: Errand) -> Outcome:
        root = self._config.name
        label = f"{kubernetes.ROOT_LABEL}%3D{root}"
        listed = self._api.ask("GET", f"{self._path}?labelSelector={label}&limit=500")
        if not listed.good:
            return listed.outcome
        mine = kubernetes.name_of(root, errand)
        name = kubernetes.newest(listed.body.get("items") or [], but=mine) or root
        found = self._api.ask("GET", f"{self._path}/{name}")
        if found.status == 404:
            raise AppError(f"there is no {self._config.resource} {name}", hint="was it deleted?")
        return Outcome(Word.DONE, {"old": name}) if found.good else found.outcome

    def _try(self, errand: Errand) -> Outcome:
        return self._create(errand, "?dryRun=All")

    def _cordon(self, errand: Errand) -> Outcome:
        """Of the two names that a node may have one is enough."""
        for node in errand.exclude_nodes:
            outcome = self._cordon_one(*kubernetes.node_names([node]))
            if outcome.word is not Word.DONE:
                return outcome
        return Outcome(Word.DONE)

    def _cordon_one(self, *names: str) -> Outcome:
        body = {"spec": {"unschedulable": True}}
        for name in names:
            reply = self._api.ask("PATCH", f"/api/v1/nodes/{name}", body, _MERGE)
            if reply.status != 404:
                return reply.outcome
        raise AppError(f"Kubernetes knows no node called {names[0]}", hint="order without it")

    def _stop(self, errand: Errand) -> Outcome:
        body = {"spec": {"suspend": True}}
        reply = self._api.ask("PATCH", self._old(errand), body, _MERGE)
        # One that has completed or failed cannot be suspended, and need not.
        return self._finished(errand) if reply.status == 422 else reply.outcome

    def _finished(self, errand: Errand) -> Outcome:
        found = self._api.ask("GET", self._old(errand))
        conditions = (found.body.get("status") or {}).get("conditions") or []
        if any(
            one.get("type") in ("Complete", "Completed", "Failed") and one.get("status") == "True"
            for one in conditions
        ):
            return Outcome(Word.DONE)
        return Outcome(Word.FAILED, text="it can neither be suspended nor has it ended")

    def _ended(self, errand: Errand) -> Outcome:
        found = self._api.ask("GET", self._old(errand))
        if not found.good:
            return found.outcome
        left = kubernetes.pods_left(found.body)
        if left:
            return Outcome(Word.LATER, text=f"{left} of it still run", wait_s=1.0)
        return Outcome(Word.DONE)

    def _submit(self, errand: Errand) -> Outcome:
        return self._create(errand, "")

    def _create(self, errand: Errand, how: str) -> Outcome:
        old = self._api.ask("GET", self._old(errand))
        if not old.good:
            return old.outcome
        launch = self.launch(errand)
        made = kubernetes.successor(self._whole(old.body), self._config.name, errand, launch)
        reply = self._api.ask("POST", f"{self._path}{how}", made)
        if reply.status == 409 and self._is_ours(errand):
            return Outcome(Word.DONE)
        if reply.status == 409:
            raise AppError(f"{made['metadata']['name']} is taken", hint="by an object of another")
        return reply.outcome

    def _whole(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """The server may leave out of an answer what the path says."""
        kind = {"job": "Job", "jobset": "JobSet"}[self._config.resource]
        return {"apiVersion": _PATHS[self._config.resource], "kind": kind, **found}

    def _is_ours(self, errand: Errand) -> bool:
        name = kubernetes.name_of(self._config.name, errand)
        found = self._api.ask("GET", f"{self._path}/{name}")
        labels = (found.body.get("metadata") or {}).get("labels") or {}
        return bool(labels.get(kubernetes.ORDER_LABEL) == errand.mark)

    def _old(self, errand: Errand) -> str:
        return f"{self._path}/{errand.facts['old']}"
