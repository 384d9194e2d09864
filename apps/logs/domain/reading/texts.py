"""Lines that hold one of a few texts, found without making the other lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.logs.domain.reading.segments import Lines
from apps.logs.domain.reading.table import LineTable


def holding(lines: Lines, texts: Sequence[bytes]) -> list[int]:
    """Numbers of the lines that hold one of `texts`, ascending. texts: without digits, UTF-8.

    Of lines as columns only the shapes are searched, each once.
    """
    if isinstance(lines, LineTable):
        wanted = [text.decode() for text in texts]
        return [at for at, text in enumerate(lines.text) if any(w in text for w in wanted)]
    hit = np.array([any(text in shape for text in texts) for shape in lines.shapes], dtype=bool)
    return np.flatnonzero(hit[lines.shape]).tolist() if hit.any() else []
