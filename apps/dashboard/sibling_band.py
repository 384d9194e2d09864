"""The band of siblings behind the loss of the flight deck."""

from __future__ import annotations

import numpy as np

from apps.core.words import many
from apps.dashboard.figures import Behind
from apps.dashboard.lanes import Clock
from apps.metrics import siblings
from apps.metrics import store as metrics
from apps.metrics.domain.sibling import first_step


def behind(run_id: int, clock: Clock) -> Behind | None:
    """The band of the newest attempt; None where nothing is chosen or known. On a time axis up to
    the newest step: nobody knows when the others come. One statement where nothing is chosen."""
    chosen = metrics.siblings_of(run_id)
    newest = clock.curves[-1].attempt
    shown = siblings.shown(run_id, newest, chosen) if chosen else None
    if shown is None:
        return None
    said = np.isfinite(shown.center) & np.isfinite(shown.width)
    if clock.kind == "time":
        said &= np.arange(len(said)) < shown.done
    cells = np.flatnonzero(said)
    places = [clock.of_step(newest, first_step(int(c), shown.total_steps)) for c in cells]
    center, width = shown.center[cells], shown.width[cells]
    return Behind(
        x=[x for x in places if x is not None],
        low=(center - width).tolist(),
        high=(center + width).tolist(),
        caption=f"green: the band of {many(shown.compared, 'sibling')} at the same part of the "
        f"schedule, shifted by the distance kept from them",
    )
