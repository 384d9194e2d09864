"""Argo Workflows by the API of its server: stop the workflow, submit its template anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apps.core.errors import AppError
from apps.rollbacks.domain import argo, kubernetes
from apps.rollbacks.domain.argo import ArgoConfig
from apps.rollbacks.domain.handover import Effect, Errand, Facts, Look, Outcome, Seen, Word
from apps.rollbacks.launchers.http import Api


class Argo:
    """One run's workflow."""

    def __init__(self, config: ArgoConfig, api: Api) -> None:
        self._config, self._api = config, api
        self._path = f"/api/v1/workflows/{config.namespace}"
        self._steps: Mapping[str, Callable[[Errand], Outcome]] = {
            "find": self._find, "try": self._try, "stop": self._stop, "ended": self._ended,
            "submit": self._submit,
        }  # fmt: skip

    def plan(self, errand: Errand) -> tuple[Effect, ...]:
        """Find, try, stop, wait, submit."""
        template, name = self._config.template, kubernetes.name_of(self._config.name, errand)
        nodes = ", ".join(errand.exclude_nodes)
        without = f", telling it not to use {nodes}" if nodes else ""
        return (
            Effect("find", f"look for the workflow of {self._config.name}"),
            Effect("try", f"ask Argo whether it would take {template} with the resume point"),
            Effect("stop", "stop the workflow that runs; its exit handlers run"),
            Effect("ended", "wait until it has ended"),
            Effect("submit", f"submit {template} as {name} with the resume point{without}"),
        )

    def before(self, key: str, errand: Errand) -> Facts:
        """Nothing: names say whether a step has happened."""
        return {}

    def start(self, key: str, errand: Errand) -> Outcome:
        """See `Launcher.start`."""
        try:
            return self._steps[key](errand)
        except _Unheard as error:
            return error.outcome
        except AppError as error:
            return Outcome(Word.FAILED, text=str(error))

    def look(self, key: str, errand: Errand, before: Facts) -> Look:
        """Every step may be repeated: a name is taken once."""
        return Look(Seen.NO)

    def launch(self, errand: Errand) -> str:
        """argo-NAME."""
        return f"argo-{kubernetes.name_of(self._config.name, errand)}"

    def _find(self, errand: Errand) -> Outcome:
        root = self._config.name
        label = f"listOptions.labelSelector={kubernetes.ROOT_LABEL}%3D{root}"
        fields = "fields=items.metadata.name,items.metadata.creationTimestamp"
        listed = self._api.ask("GET", f"{self._path}?{label}&{fields}")
        if not listed.good:
            return listed.outcome
        mine = kubernetes.name_of(root, errand)
        name = kubernetes.newest(listed.body.get("items") or [], but=mine) or root
        return Outcome(Word.DONE, {"old": name})

    def _try(self, errand: Errand) -> Outcome:
        return self._post(errand, dry_run=True)

    def _stop(self, errand: Errand) -> Outcome:
        found = self._get(errand)
        if found is None or argo.phase(found) in argo.ENDED:
            return Outcome(Word.DONE)
        name = errand.facts["old"]
        body = {"name": name, "namespace": self._config.namespace,
                "message": f"lastgood {errand.label} to step {errand.step}"}  # fmt: skip
        return self._api.ask("PUT", f"{self._path}/{name}/stop", body).outcome

    def _ended(self, errand: Errand) -> Outcome:
        found = self._get(errand)
        if found is None or argo.phase(found) in argo.ENDED:
            return Outcome(Word.DONE)
        return Outcome(Word.LATER, text=f"it is {argo.phase(found).lower()}", wait_s=1.0)

    def _submit(self, errand: Errand) -> Outcome:
        outcome = self._post(errand, dry_run=False)
        if outcome.word is Word.DONE:
            return outcome
        # Versions differ in how they say that a name is taken.
        name = kubernetes.name_of(self._config.name, errand)
        found = self._api.ask("GET", f"{self._path}/{name}?fields=metadata.labels")
        labels = (found.body.get("metadata") or {}).get("labels") or {}
        taken = labels.get(kubernetes.ORDER_LABEL) == errand.mark
        return Outcome(Word.DONE) if taken else outcome

    def _post(self, errand: Errand, *, dry_run: bool) -> Outcome:
        body = argo.submission(self._config, errand, self.launch(errand), dry_run=dry_run)
        return self._api.ask("POST", f"{self._path}/submit", body).outcome

    def _get(self, errand: Errand) -> Mapping[str, Any] | None:
        """The workflow that is to be stopped, None if it is gone. Raises _Unheard."""
        name = errand.facts["old"]
        reply = self._api.ask("GET", f"{self._path}/{name}?fields=metadata.name,status.phase")
        if reply.status == 404:
            return None
        if not reply.good:
            raise _Unheard(reply.outcome)
        return reply.body


class _Unheard(Exception):
    """The server did not say how a workflow stands: so ends the step."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.text)
        self.outcome = outcome
