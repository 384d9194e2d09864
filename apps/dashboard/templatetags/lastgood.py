"""How values look in pages: numbers, sizes, times, icons, sparklines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core import words as core_words
from apps.core.rankspans import spans as rank_spans
from apps.core.records import Candidate
from apps.dashboard.rollback import Scene
from apps.runs.records import RunInfo

register = template.Library()

UNKNOWN = "–"  # noqa: RUF001
"""Stands where a value is not known."""
MINUS = "−"  # noqa: RUF001
"""Of a number that people read. Programs get the hyphen."""

TONES = {
    "running": ("play", "run", "Running"),
    "waiting": ("clock", "muted", "Waiting"),
    "no_contact": ("unplug", "warn", "No contact"),
    "failed": ("octagon", "critical", "Failed"),
    "finished": ("flag", "ok", "Finished"),
    "stopped": ("flag", "muted", "Stopped"),
    "ended": ("flag", "muted", "Ended"),
    "page": ("octagon", "critical", "Critical"),
    "warn": ("triangle", "warn", "Warning"),
    "info": ("info", "info", "Info"),
    "open": ("octagon", "critical", "Open"),
    "acknowledged": ("user", "warn", "Acknowledged"),
    "mitigated": ("rollback", "run", "Mitigated"),
    "resolved": ("ok", "ok", "Resolved"),
    "done": ("ok", "ok", "Done"),
    "cancelled": ("flag", "muted", "Taken back"),
    "complete": ("ok", "ok", "Complete"),
    "damaged": ("octagon", "critical", "Damaged"),
    "unseen": ("info", "muted", "Said, not seen"),
    "under_way": ("clock", "run", "Being saved"),
    "save_failed": ("octagon", "critical", "Save failed"),
    "deleted": ("minus", "muted", "Deleted"),
    "lost": ("triangle", "critical", "Lost"),
    "ok": ("ok", "ok", "OK"),
    "suspected": ("triangle", "warn", "Suspected"),
    "confirmed": ("octagon", "critical", "Confirmed"),
    "cordoned": ("pause", "muted", "Cordoned"),
    "replaced": ("flag", "muted", "Replaced"),
}
"""word -> (icon, tone, text): severity and state are shape + word + colour, never colour alone."""


@register.simple_tag
def icon(name: str) -> SafeString:
    """One icon of static/icons.svg, hidden from screen readers (a word stands beside it)."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>',
        static("icons.svg"),
        name,
    )


@register.simple_tag
def state(word: str, text: str = "") -> SafeString:
    """A state as icon, tone and word."""
    shape, tone, label = TONES.get(str(word), ("info", "muted", str(word).replace("_", " ")))
    return format_html('<span class="state tone-{}">{} {}</span>', tone, icon(shape), text or label)


@register.simple_tag
def host(name: str | None) -> str | SafeString:
    """The name of a host as a link to its page; "" for none."""
    if not name:
        return ""
    return format_html('<a href="{}">{}</a>', reverse("host", args=[name]), name)


def _typeset(digits: str) -> str:
    """A number of Python with the minus that people read."""
    return digits.replace("-", MINUS)


@register.filter
def number(value: float | None) -> str:
    """4 significant digits, thousands separated; NaN and infinities by name; a dash if unknown."""
    return UNKNOWN if value is None else _typeset(_four_digits(value))


def _four_digits(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        return f"{value:.3g}"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(size)))}f}"


@register.filter
def brief(value: float | None) -> str:
    """2 significant digits: for estimates."""
    if value is None:
        return UNKNOWN
    return _typeset(f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}")


@register.filter
def percent(value: float | None) -> str:
    """A ratio as percent with one decimal; a dash if unknown."""
    return UNKNOWN if value is None else f"{_typeset(f'{100 * value:.1f}')} %"


@register.filter
def signed_percent(value: float) -> str:
    """A ratio as a change in whole percent, with its sign."""
    whole = round(100 * value)
    return f"{'+' if whole > 0 else MINUS if whole < 0 else '±'}{abs(whole)} %"


@register.filter
def short(value: float) -> str:
    """3 significant digits with k, M, G: 41,200 is "41.2k"."""
    rounded = float(f"{value:.3g}")
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size <= abs(rounded) < math.inf:
            return f"{rounded / size:.3g}{unit}"
    return number(value)


@register.filter
def gpu_hours(gpu_s: float) -> str:
    """GPU-seconds as GPU-hours."""
    hours = gpu_s / 3_600
    return "< 0.01 h" if 0 < hours < 0.01 else f"{brief(hours)} h"


@register.filter
def size(value: float | None) -> str:
    """Bytes in binary units."""
    return UNKNOWN if value is None else core_words.size(float(value))


@register.filter
def duration(seconds: float | None) -> str:
    """How long, in the two largest units."""
    if seconds is None:
        return UNKNOWN
    whole = int(max(0, seconds))
    if 0 < seconds < 0.001:
        return "< 1 ms"
    if whole < 1:
        return f"{max(0.0, seconds):.2g} s" if seconds > 0 else "0 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min"
    if whole < 86_400:
        return f"{whole // 3_600} h {whole % 3_600 // 60:02d} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3_600} h"


def _time(time_ns: int, text: str, kind: str) -> SafeString:
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return format_html(
        '<time datetime="{}" data-ms="{}" data-as="{}" title="{} UTC">{}</time>',
        moment.isoformat(timespec="milliseconds"),
        time_ns // 1_000_000,
        kind,
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        text,
    )


@register.filter
def offset(span_ns: int, form: str = "signed") -> str:
    """A span between clocks: "+2.1 s", "−53 ms"; without its sign as "plain"."""  # noqa: RUF002
    sign = "" if form == "plain" else MINUS if span_ns < 0 else "+"
    span = abs(span_ns)
    if span >= 1_000_000_000:
        return f"{sign}{span / 1e9:.3g} s"
    return f"{sign}{span / 1e6:.3g} ms"


@register.filter
def clock(time_ns: int | None) -> str | SafeString:
    """Date and time in UTC, with the zone named; the page may switch it to local."""
    if not time_ns:
        return UNKNOWN
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return _time(time_ns, moment.strftime("%Y-%m-%d %H:%M:%S UTC"), "clock")


@register.filter
def clock_ms(time_ns: int | None) -> str | SafeString:
    """Time of day with milliseconds, UTC."""
    if not time_ns:
        return UNKNOWN
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return _time(time_ns, moment.strftime("%H:%M:%S.") + f"{moment.microsecond // 1000:03d}", "ms")


@register.filter
def line_time(time_ns: str | None) -> SafeString:
    """Day and time of a log line with milliseconds; all nine digits in its title. None: empty."""
    if not time_ns:
        return format_html('<time data-as="{}"></time>', "line")
    ns = int(time_ns)
    seconds, rest = divmod(ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return format_html(
        '<time datetime="{}" data-ms="{}" data-ns="{}" data-as="line" title="{} UTC">{}</time>',
        moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{rest // 1_000_000:03d}Z",
        ns // 1_000_000,
        ns,
        moment.strftime("%Y-%m-%d %H:%M:%S") + f".{rest:09d}",
        moment.strftime("%m-%d %H:%M:%S") + f".{rest // 1_000_000:03d}",
    )


@register.simple_tag(takes_context=True)
def ago(context: template.Context, time_ns: int | None) -> str | SafeString:
    """How long before the page's `now_ns`; kept fresh in the browser."""
    if not time_ns:
        return UNKNOWN
    past = (context["now_ns"] - time_ns) / 1e9
    return _time(time_ns, f"{duration(past)} ago", "ago")


@register.simple_tag(takes_context=True)
def until(context: template.Context, time_ns: int) -> SafeString:
    """How long after the page's `now_ns`: "in 23 h 10 min"; "now" once it is due."""
    left = (time_ns - context["now_ns"]) / 1e9
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        moment.isoformat(timespec="seconds"),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        f"in {duration(left)}" if left > 0 else "now",
    )


@register.simple_tag
def sparkline(values: Sequence[float | None]) -> SafeString:
    """A small curve as SVG; None and non-finite values break it."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    if len(finite) < 2:
        return format_html('<span class="muted">{}</span>', "no curve yet")
    low, high = min(finite), max(finite)
    scale = 24 / (high - low) if high > low else 0.0
    step = 128 / max(1, len(values) - 1)
    path, pen, end = [], "M", (0.0, 26.0)
    for index, value in enumerate(values):
        if value is None or not math.isfinite(value):
            pen = "M"
            continue
        end = (index * step + 2, 26 - (value - low) * scale)
        path.append(f"{pen}{end[0]:.1f} {end[1]:.1f}")
        pen = "L"
    text = f"last {number(finite[-1])}, range {number(low)} to {number(high)}"
    return format_html(
        '<svg class="spark" viewBox="0 0 132 28" role="img" aria-label="{}"><path d="{}"/>'
        '<circle class="end" cx="{}" cy="{}" r="2.2"/></svg>',
        text,
        " ".join(path),
        round(end[0], 1),
        round(end[1], 1),
    )


@register.filter
def get(mapping: dict[object, object], key: object) -> object:
    """mapping[key] or None."""
    return mapping.get(key)


@register.filter
def words(name: str | None) -> str:
    """A stored name as words: rank_outlier -> rank outlier."""
    return str(name or "").replace("_", " ")


@register.filter
def spans(ranks: Sequence[int]) -> str:
    """Ranks in short: "0-7, 64"."""
    return rank_spans(ranks)


@register.filter
def choice(candidate: Candidate) -> str:
    """How the rollback form names a candidate."""
    return f"{candidate.attempt}:{candidate.step}"


@register.filter
def offered(candidate: Candidate, scene: Scene) -> list[str]:
    """The names of the offers that name a candidate."""
    return scene.offered.get((candidate.attempt, candidate.step), [])


@register.filter
def arrows(text: str) -> str:
    """Titles are ASCII for mail subjects; on a page the arrow is one."""
    return text.replace(" -> ", " → ")


@register.filter
def given_name(run: RunInfo) -> str:
    """What a person called the run in W&B, "" if that is its key or nothing."""
    name = str(run.config.get("wandb/name") or "")
    return "" if name == run.key else name


@register.filter
def wandb_facts(config: dict[str, Any]) -> list[tuple[str, str]]:
    """(name, value) of what a `wandb` client says of its run beside the configuration."""
    return [
        (name.removeprefix("wandb/").replace("_", " "), _fact(config[name]))
        for name in sorted(config)
        if name.startswith("wandb/")
    ]


def _fact(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
