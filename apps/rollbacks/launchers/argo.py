"""Argo Workflows by the API of its server: stop the workflow, submit or resubmit it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from apps.core.errors import AppError
from apps.rollbacks.domain import argo, kubernetes
from apps.rollbacks.domain.argo import ArgoConfig
from apps.rollbacks.domain.handover import Effect, Errand, Facts, Look, Outcome, Seen, Word, unseen
from apps.rollbacks.launchers.http import Api

MAX_RESUBMITTED: Final = 100
SETTLE_S: Final = 30.0
"""How long after a lost answer the server may still be working on the request."""
_LISTED: Final = ("metadata.name", "metadata.creationTimestamp", "spec.arguments.parameters")


class Argo:
    """One run's workflow."""

    def __init__(self, config: ArgoConfig, api: Api) -> None:
        self._config, self._api = config, api
        self._path = f"/api/v1/workflows/{config.namespace}"
        self._steps: Mapping[str, Callable[[Errand], Outcome]] = {
            "find": self._find, "try": self._try, "stop": self._stop, "ended": self._ended,
            "submit": self._submit, "resubmit": self._resubmit,
        }  # fmt: skip

    def plan(self, errand: Errand) -> tuple[Effect, ...]:
        """Find, try, stop, wait, submit."""
        template, name = self._config.template, kubernetes.name_of(self._config.name, errand)
        nodes = ", ".join(errand.exclude_nodes)
        without = f", telling it not to use {nodes}" if nodes else ""
        ask = f"ask Argo whether it would take {template} with the resume point"
        submit = f"submit {template} as {name} with the resume point{without}"
        again = f"resubmit it from its beginning with the resume point{without}"
        return (
            Effect("find", f"look for the workflow of {self._config.name}"),
            *([Effect("try", ask)] if template else []),
            Effect("stop", "stop the workflow that runs; its exit handlers run"),
            Effect("ended", "wait until it has ended"),
            Effect("submit", submit) if template else Effect("resubmit", again),
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
        """A name is taken once, so that only a resubmission, whose name Argo makes up, has to be
        looked for."""
        if key != "resubmit":
            return Look(Seen.NO)
        try:
            found = self._listed(argo.FROM_LABEL, errand.facts["old"])
        except _Unheard as error:
            return unseen(error.outcome)
        return Look(Seen.YES if any(argo.follows(one, errand) for one in found) else Seen.NO)

    def launch(self, errand: Errand) -> str:
        """argo-NAME."""
        return f"argo-{kubernetes.name_of(self._config.name, errand)}"

    def _find(self, errand: Errand) -> Outcome:
        if not self._config.template:
            return Outcome(Word.DONE, {"old": self._last_of(self._config.name)})
        root = self._config.name
        mine = kubernetes.name_of(root, errand)
        listed = self._listed(kubernetes.ROOT_LABEL, root)
        return Outcome(Word.DONE, {"old": kubernetes.newest(listed, but=mine) or root})

    def _last_of(self, name: str) -> str:
        """The end of a chain of resubmissions."""
        for _ in range(MAX_RESUBMITTED):
            following = kubernetes.newest(self._listed(argo.FROM_LABEL, name), but=name)
            if not following:
                return name
            name = following
        raise AppError(f"{MAX_RESUBMITTED} workflows follow one another", hint="name the last one")

    def _listed(self, label: str, value: str) -> list[Mapping[str, Any]]:
        """Workflows with a label. Raises _Unheard."""
        fields = ",".join(f"items.{one}" for one in _LISTED)
        query = f"listOptions.labelSelector={label}%3D{value}&fields={fields}"
        reply = self._api.ask("GET", f"{self._path}?{query}")
        if not reply.good:
            raise _Unheard(reply.outcome)
        return list(reply.body.get("items") or [])

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

    def _resubmit(self, errand: Errand) -> Outcome:
        body = argo.resubmission(self._config, errand, self.launch(errand))
        reply = self._api.ask("PUT", f"{self._path}/{errand.facts['old']}/resubmit", body)
        maybe_taken = reply.status == 0 or reply.status >= 500
        return replace(reply.outcome, wait_s=SETTLE_S) if maybe_taken else reply.outcome

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
