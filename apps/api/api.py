"""The REST API: /api/v1/, documented at /api/v1/docs."""

from __future__ import annotations

from ninja import NinjaAPI

from apps.api import errors
from apps.api.alerts import router as alerts
from apps.api.auth import signed_in
from apps.api.candidates import router as candidates
from apps.api.checkpoints import router as checkpoints
from apps.api.clocks import router as clocks
from apps.api.detectors import router as detectors
from apps.api.evaluations import router as evaluations
from apps.api.faultclasses import router as faultclasses
from apps.api.flight import router as flight
from apps.api.handovers import router as handovers
from apps.api.hosts import router as hosts
from apps.api.incident_acts import router as incident_acts
from apps.api.incidents import router as incidents
from apps.api.ingest import router as ingest
from apps.api.kept import router as kept
from apps.api.labels import router as labels
from apps.api.links import router as links
from apps.api.logs import router as logs
from apps.api.names import router as names
from apps.api.orders import router as orders
from apps.api.patterns import router as patterns
from apps.api.planned import router as planned
from apps.api.planning import router as planning
from apps.api.renderer import StrictJson, StrictParser
from apps.api.retention import router as retention
from apps.api.runs import router as runs
from apps.api.siblings import router as siblings
from apps.api.signals import router as signals
from apps.api.stops import router as stops
from apps.api.storage import router as storage
from apps.api.suites import router as suites

DESCRIPTION = """
Read what Lastgood knows, acknowledge incidents, order and follow rollbacks.

**Sign in** with `Authorization: Bearer <token>` (made by `manage.py token NAME --scope read`) or
the session cookie of a logged-in browser. Scopes: `read` for every GET, `operate` for
acknowledgements, rollbacks, siblings and planned changes, `admin` for thresholds, fault
classes, rules and channels of alerts, `ingest` for the data doors.

**Errors** have one shape: `{"error", "where", "hint", "docs"}`. Numbers that JSON cannot write are
the strings `"NaN"`, `"Infinity"`, `"-Infinity"`. Lists are paged by key: pass `next` as `before`.

**Data doors** (POST, scope `ingest`, `Content-Encoding: zstd` or `gzip` welcome, `X-Batch-Id` makes
a repeat harmless): `/runs/{key}/launches`, `/runs/{key}/logs`, `/runs/{key}/lines`,
`/runs/{key}/wandb`, `/runs/{key}/metrics`, `/runs/{key}/checkpoints`, `/nodes/events`. They answer
`202 {"batch"}` once the body is durable, 413 when it is too large, 429 or 503 with `Retry-After`
when it should come later. A body that turns out to be faulty is listed at `/ingest/quarantine` with
its reason. Loki's `/loki/api/v1/push` and OpenTelemetry's `/v1/logs` answer as their protocols do.
"""

api = NinjaAPI(
    title="Lastgood",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api",
    renderer=StrictJson(),
    parser=StrictParser(),
    docs_decorator=signed_in,
)
errors.install(api)
api.add_router("", runs, tags=["runs"])
api.add_router("", alerts, tags=["alerts"])
api.add_router("", incidents, tags=["incidents"])
api.add_router("", incident_acts, tags=["incidents"])
api.add_router("", candidates, tags=["rollback"])
api.add_router("", faultclasses, tags=["fault classes"])
api.add_router("", flight, tags=["incidents"])
api.add_router("", handovers, tags=["rollback"])
api.add_router("", kept, tags=["logs"])
api.add_router("", checkpoints, tags=["checkpoints"])
api.add_router("", clocks, tags=["logs"])
api.add_router("", detectors, tags=["detectors"])
api.add_router("", evaluations, tags=["evaluations"])
api.add_router("", suites, tags=["evaluations"])
api.add_router("", labels, tags=["ingest"])
api.add_router("", links, tags=["nodes"])
api.add_router("", logs, tags=["logs"])
api.add_router("", hosts, tags=["nodes"])
api.add_router("", names, tags=["names"])
api.add_router("", orders, tags=["rollback"])
api.add_router("", patterns, tags=["logs"])
api.add_router("", planned, tags=["planned changes"])
api.add_router("", planning, tags=["planning"])
api.add_router("", retention, tags=["checkpoints"])
api.add_router("", siblings, tags=["siblings"])
api.add_router("", signals, tags=["detectors"])
api.add_router("", stops, tags=["stop"])
api.add_router("", storage, tags=["storage"])
api.add_router("", ingest, tags=["ingest"])
