"""Small figures with axes of their own, checked by plotly's validators; colours are CSS variables.

static/js/figures.js draws them. The rows of the flight deck are another thing (figures.py): they
share one axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import plotly.graph_objects as go


def line(
    name: str,
    x: Sequence[float],
    y: Sequence[float | None],
    *,
    hue: str,
    dash: str = "solid",
    hover: str = "%{y:.4g}",
) -> go.Scatter:
    """A named curve. hue: a CSS colour variable; never the only thing that tells two apart."""
    return go.Scatter(
        name=name,
        x=list(x),
        y=list(y),
        mode="lines",
        line={"color": f"var(--{hue})", "width": 2, "dash": dash},
        hovertemplate=f"{hover}<extra>{name}</extra>",
    )


def marker(name: str, x: float, y: float, *, hue: str, symbol: str, hover: str) -> go.Scatter:
    """One named point."""
    return go.Scatter(
        name=name,
        x=[x],
        y=[y],
        mode="markers",
        marker={"color": f"var(--{hue})", "size": 11, "symbol": symbol},
        hovertemplate=f"{hover}<extra>{name}</extra>",
    )


def dots(
    name: str, x: Sequence[float], texts: Sequence[str], *, look: tuple[str, str]
) -> go.Scatter:
    """Named points in one row. look: (CSS colour variable, symbol)."""
    hue, symbol = look
    return go.Scatter(
        name=name,
        x=list(x),
        y=[0.0] * len(x),
        text=list(texts),
        mode="markers",
        marker={"color": f"var(--{hue})", "size": 9, "symbol": symbol},
        hovertemplate=f"%{{text}}<extra>{name}</extra>",
    )


def figure(traces: Sequence[go.Scatter | go.Bar], axes: go.Layout) -> str:
    """Plotly JSON, with the look that all of them share."""
    layout = go.Layout(
        showlegend=len(traces) > 1,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        hovermode="closest",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        xaxis={"gridcolor": "var(--grid)", "zeroline": False, "fixedrange": True},
        yaxis={"gridcolor": "var(--grid)", "zeroline": False, "fixedrange": True},
        hoverlabel={"bgcolor": "var(--panel)", "bordercolor": "var(--border)"},
    )
    layout.update(axes.to_plotly_json())
    data = [one.to_plotly_json() for one in traces]
    return orjson.dumps({"data": data, "layout": layout.to_plotly_json()}).decode()
