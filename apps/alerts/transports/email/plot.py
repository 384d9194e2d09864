"""The one picture of a message: the loss around the onset, as PNG."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apps.core.words import number

WIDTH_PX, HEIGHT_PX, _DPI = 600, 240, 100
_LARGEST = 1e30
_NAME_LENGTH = 40
_BLUE, _CRITICAL, _TEXT, _BORDER = "#0072B2", "#B3261E", "#1F2328", "#D0D7DE"


@dataclass(frozen=True, slots=True)
class Curve:
    """A series around an onset. step: int64[n] ascending; value: float64[n], NaN and inf kept."""

    name: str
    step: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    onset_step: int | None


def describe(curve: Curve) -> str:
    """The curve in words and numbers, for the alt text and the text part; "" without a point."""
    if len(curve.step) == 0:
        return ""
    broken = int(np.count_nonzero(~np.isfinite(curve.value)))
    span = f"{curve.name}, steps {curve.step[0]:,} to {curve.step[-1]:,}"
    end = f"{broken} NaN or inf" if broken else "no NaN"
    if curve.onset_step is None:
        return f"{span}: {_middle(curve.value)}, {end}"
    before = _middle(curve.value[curve.step < curve.onset_step])
    since = _middle(curve.value[curve.step >= curve.onset_step])
    return f"{span}: {before} before, {since} from step {curve.onset_step:,} on, {end}"


def _middle(values: npt.NDArray[np.float64]) -> str:
    finite = values[np.isfinite(values)]
    if len(finite):
        return f"median {number(float(np.median(finite)))}"
    return "no finite value" if len(values) else "nothing logged yet"


def _title(curve: Curve) -> str:
    """The name, and what the red line and the red marks mean."""
    name = curve.name if len(curve.name) <= _NAME_LENGTH else f"{curve.name[:_NAME_LENGTH]}..."
    marks = ["red line: onset"] if curve.onset_step is not None else []
    marks += [] if np.isfinite(curve.value).all() else ["red marks: NaN or inf"]
    return ", ".join([name, *marks]).replace("$", r"\$")


def draw(curve: Curve) -> bytes:
    """PNG, 600 x 240 pixels, light background with a border; b"" without a finite point.

    The onset is a red line, non-finite values are red marks on the top edge. The y axis is
    logarithmic when the values span more than a factor of 20; beyond 1e30 it ends. About 0.15 s;
    the first call in a process also imports matplotlib (about a second): of requests, only the
    export of an incident does it.
    """
    finite = np.isfinite(curve.value)
    if not finite.any():
        return b""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_PX / _DPI, HEIGHT_PX / _DPI), dpi=_DPI, facecolor="white")
    FigureCanvasAgg(figure)
    figure.patch.set(edgecolor=_BORDER, linewidth=1.0)
    axes = figure.add_axes((0.10, 0.17, 0.87, 0.70))
    values = np.clip(curve.value[finite], -_LARGEST, _LARGEST)
    axes.plot(curve.step[finite], values, color=_BLUE, linewidth=1.2)
    if values.min() > 0 and values.max() > 20 * values.min():
        axes.set_yscale("log")
    top = axes.get_ylim()[1]
    axes.plot(
        curve.step[~finite], [top] * int((~finite).sum()), "v", color=_CRITICAL, clip_on=False
    )
    if curve.onset_step is not None:
        axes.axvline(curve.onset_step, color=_CRITICAL, linewidth=1.2, linestyle="--")
    axes.set_title(_title(curve), fontsize=9, loc="left", color=_TEXT)
    axes.set_xlabel("step", fontsize=9, color=_TEXT, labelpad=1)
    axes.tick_params(labelsize=9, colors=_TEXT)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png", edgecolor=_BORDER, metadata={"Software": None})
    return out.getvalue()
