"""When the lines of a batch came to their steps."""

from __future__ import annotations

import numpy as np

from apps.core.records import Severity
from apps.logs.domain.reading.columns import NO_STEP, LineColumns


def first_times(lines: LineColumns) -> dict[int, int]:
    """Step -> the first time in ns at which a line below an error tells of it, by step."""
    told = np.flatnonzero((lines.step != NO_STEP) & (lines.severity < Severity.ERROR))
    order = told[np.lexsort((lines.time_ns[told], lines.step[told]))]
    steps, at = np.unique(lines.step[order], return_index=True)
    return dict(zip(steps.tolist(), lines.time_ns[order[at]].tolist(), strict=True))
