"""Every page there is, what has to be there for it, and what opens on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import httpx

from tests.stack import Stack, until
from workers.demo.pictures import PAGES

ADDRESSES: dict[str, str] = {
    **PAGES,
    "login": "/login/",
    "login-link-used": "/login/none",
    "rule": "/alerts/rules/{rule}/",
    "channel": "/alerts/channels/{channel}/",
    "leave-damaged": "/alerts/leave/none/",
    "hosts-prepare": "/nodes/-/prepare/?host={host}",
    "link-test": "/links/{link_test}/",
    "fault-class": "/projects/{project}/fault-classes/class/",
    "storage-one-root": "/storage/{root}/",
    "order": "/runs/{other}/orders/{order}/",
    "evaluation": "/runs/{other}/evaluations/{evaluation}/",
    "nothing-here": "/nothing/",
}
"""name -> address of every page that a GET gives."""
NOT_FOUND = {"login-link-used": 410, "leave-damaged": 404, "nothing-here": 404}
"""Those that answer with another status than 200."""
NO_PAGES: Mapping[str, str] = {
    **dict.fromkeys(
        ["search_data", "alert_health", "link_matrix", "deck_data", "series_names", "log_lines",
         "log_line", "log_around", "log_news", "log_pulse", "log_matrix"],
        "data for a program or a page in the list",
    ),
    **dict.fromkeys(
        ["quarantined_body", "audit_export", "incident_export", "layer_points", "rank_points",
         "log_download", "wandb-download", "wandb-manifest"],
        "a file",
    ),
    **dict.fromkeys(
        ["connect_wait", "run_head", "run_side", "checkpoint_hash"],
        "a part of a page in the list",
    ),
    "oidc_return": "comes from a provider of sign-ins; what it says is one of the plain pages",
}  # fmt: skip
"""URL name -> why what a GET gives is looked at nowhere or elsewhere."""
PLAIN: Mapping[str, Mapping[str, Any]] = {
    "400.html": {},
    "403.html": {"message": "you may not", "hint": "ask", "needed": "operator", "yours": "viewer"},
    "403_csrf.html": {"back": "/"},
    "404.html": {},
    "413.html": {},
    "500.html": {"fault": "0a1b2c3d"},
    "503.html": {},
    "accounts/leaving.html": {"provider": SimpleNamespace(name="the example"), "address": "#there"},
    "accounts/link_used.html": {},
    "accounts/not_in.html": {"said": SimpleNamespace(headline="You are not in", advice="Ask.")},
    "accounts/too_many.html": {"wait_minutes": 3},
    "alerts/leave.html": {"found": SimpleNamespace(recipient="eve@example.org", names=["night"])},
    "alerts/leave_bad.html": {"error": SimpleNamespace(message="it is damaged", hint="log in")},
}
"""Pages without the frame -> what they are given. Those about errors come about by errors only."""

Reach = Callable[[Any], None]


def _press(key: str) -> Reach:
    return lambda page: page.keyboard.press(key)


def _click(what: str) -> Reach:
    return lambda page: page.locator(what).first.click()


def _send(form: str, button: str = "button[type=submit]") -> Reach:
    """Sends a form as it is, whatever the browser thinks of its fields."""

    def reach(page: Any) -> None:
        page.locator(form).evaluate("(form) => { form.noValidate = true; }")
        page.locator(f"{form} {button}").first.click()

    return reach


_FORM = "main form[method=post]:not([action])"
STATES: Mapping[str, tuple[tuple[Reach, str], ...]] = {
    "runs": (
        (_press("Control+k"), ".palette:has([role=option])"),
        (_press("Escape"), "main"),
        (_press("?"), "#keys[open]"),
        (_press("Escape"), "main"),
        (_click("[data-menu] summary"), "[data-menu] .sheet"),
    ),
    "incidents": (
        (_press("m"), "#chosen:has([open])"),
        (_click("#chosen > [formaction]"), ".messages"),
    ),
    "incident": (
        (_press("n"), ".act[open]"),
        (_click(".act > [data-key=m]"), ".act[open]:has(#silence-why)"),
    ),
    "flight-deck": (
        (_click("[data-chart=loss] [data-table]"), "dialog[open]"),
        (_press("Escape"), "main"),
        (_click("summary:has-text('Lanes')"), ".deck-tools [open]"),
    ),
    "logs": (
        (_click(".log .line"), ".log .detail"),
        (lambda page: page.goto(f"{page.url}&q=/(/"), "main"),
    ),
    "rollback": ((_send("[data-drawer]"), "#preview"),),
    "alert-rule": ((_send("main form.stack", "button.primary"), "#error"),),
    "alert-channel": ((_send("main form.stack"), "#error"),),
    "tokens": ((_send(_FORM), "#error"),),
    "members": ((_send(_FORM), "#error"),),
    "connect": ((_send("main form"), "#cmd-token"),),
    "login": ((_send("main form"), "[role=alert]"),),
}
"""name -> what is done on that page one after the other, and the part that is looked at then."""


def make(site: Stack, request: Any, csrf: str) -> dict[str, Any]:
    """What the addresses name beside a run with an incident, made by the API of a session."""

    def send(path: str, body: Any) -> Any:
        answer = request.post(f"/api/v1/{path}", data=body, headers={"X-CSRFToken": csrf})
        assert answer.ok, answer.text()
        return answer.json()

    other = "other-run"
    channel = {"name": "ops", "kind": "slack", "address": "https://hooks.slack.com/services/T/B/x"}
    suite = {"name": "nightly", "argv": ["/bin/true", "{checkpoint}", "{output}"]}
    made = {
        "other": other,
        "rule": send("alerts/rules", {"name": "night", "everybody": True, "enabled": False})["id"],
        "channel": send("alerts/channels", {**channel, "enabled": False})["id"],
        "link_test": _link_test(site),
    }
    _checkpoint(site, other)
    send("projects/-/suites", suite)
    job = {"suite": "nightly", "step": 40}
    said = {"step": 40, "confirm": 40, "reason": "tried", "force": True, "idempotency_key": "1"}
    return made | {
        "root": send("storage/roots", {"uri": str(site.home), "run": other})["id"],
        "order": send(f"runs/{other}/rollback", said)["id"],
        "evaluation": send(f"runs/{other}/evaluations/jobs", job)["id"],
    }


def _link_test(site: Stack) -> int:
    rows = "a,b,gbit_s\nn0,n1,391\nn0,n2,390\nn1,n2,120\n"
    return _post(site, "link-tests", rows.encode())["number"]


def _checkpoint(site: Stack, run: str) -> None:
    """A run with a loss, and a checkpoint at step 40."""
    site.send_losses(run, 0, 60)
    files = {".metadata": 10, "__0_0.distcp": 100}
    event = {"ts": time.time(), "step": 40, "path": "/ckpt/step-40", "save_s": 1.0, "files": files}
    _post(site, f"runs/{run}/checkpoints", {"attempt": 0, "events": [event]})
    until(lambda: site.drained(run), "the checkpoint")


def _post(site: Stack, path: str, body: Any) -> Any:
    sent = {"content": body} if isinstance(body, bytes) else {"json": body}
    headers = {"Authorization": f"Bearer {site.token}"}
    answer = httpx.post(f"{site.url}/api/v1/{path}", headers=headers, timeout=60, **sent)
    assert answer.is_success, answer.text
    return answer.json()
