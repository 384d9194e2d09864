"""The templates of many lines at once: one for all messages of a shape. Plain Python and NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apps.logs.domain.pattern.templates import MAX_CACHED, OTHER, template_of_shape
from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.readings import without_digits

_ids: dict[bytes, int] = {}
"""Shape of a message -> its template."""


def templates_of(lines: LineColumns) -> NDArray[np.int64]:
    """The template of each line; int64[n]. About 0.1 microseconds a line whose shape is known."""
    kinds = lines.shape.astype(np.int64) << 32 | lines.message_at
    _, first, which = np.unique(kinds, return_index=True, return_inverse=True)
    shapes = [lines.message_shape(number) for number in first.tolist()]
    known = {shape: _ids.get(shape, OTHER) for shape in shapes}
    new = [shape for shape, template in known.items() if template == OTHER]
    known.update(zip(new, map(template_of_shape, without_digits(new)), strict=True))
    if len(_ids) + len(new) > MAX_CACHED:
        _ids.clear()
    _ids.update((shape, known[shape]) for shape in new)
    return np.array([known[shape] for shape in shapes], dtype=np.int64)[which]
