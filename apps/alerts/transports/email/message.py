"""The one function that turns facts into a message. An upgrade of Django touches only this file."""

from __future__ import annotations

from email.mime.image import MIMEImage
from email.utils import formatdate
from typing import Any

from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from apps.alerts.domain import mail
from apps.alerts.domain.bundle import Bundle, bundle_lead, bundle_subject, cap_note, items
from apps.alerts.domain.mail import MailFacts
from apps.alerts.transports.email.plot import HEIGHT_PX, WIDTH_PX
from apps.core.words import duration

PLOT_ID = "plot"


def build(bundle: Bundle, plot_png: bytes, sender: str) -> EmailMultiAlternatives:
    """A mail about one incident: multipart/related(multipart/alternative(text, html), image/png),
    or without the image when there is no plot.

    Django 5.2 attaches inline images through the undocumented `mixed_subtype`; Django 6.1 raises
    AttributeError for it. There, attach an `email.message.MIMEPart` instead (the image then sits
    in multipart/mixed) and change the golden file beside the test.
    """
    facts = bundle.first
    context = _context(facts, has_plot=bool(plot_png)) | {"cap_note": cap_note(bundle)}
    message = _message(facts, mail.subject(facts), ("incident", context), sender)
    if plot_png:
        message.mixed_subtype = "related"  # type: ignore[attr-defined]
        message.attach(_inline(plot_png))
    return message


def build_bundle(bundle: Bundle, sender: str) -> EmailMultiAlternatives:
    """A mail about several incidents, without a picture; part of the threads of all of them."""
    facts = bundle.first
    context = {
        "facts": facts,
        "lead": bundle_lead(bundle),
        "items": items(bundle),
        "cap_note": cap_note(bundle),
        "over": all(one.over for one in bundle.facts),
    }
    message = _message(facts, bundle_subject(bundle), ("bundle", context), sender)
    roots = dict.fromkeys(mail.root(one) for one in bundle.facts)
    message.extra_headers["References"] = " ".join(roots)
    return message


def _message(
    facts: MailFacts, subject: str, body: tuple[str, dict[str, Any]], sender: str
) -> EmailMultiAlternatives:
    template, context = body
    message = EmailMultiAlternatives(
        subject=subject,
        body=render_to_string(f"alerts/email/{template}.txt", context),
        from_email=sender,
        to=[facts.recipient],
        headers=mail.headers(facts) | {"Date": formatdate(facts.dated_ns / 1e9, usegmt=True)},
    )
    html = render_to_string(f"alerts/email/{template}.html", context)
    message.attach_alternative(html, "text/html")
    return message


def _inline(png: bytes) -> MIMEImage:
    image = MIMEImage(png, "png")
    image.add_header("Content-ID", f"<{PLOT_ID}>")
    image.add_header("Content-Disposition", "inline", filename="loss.png")
    return image


def _context(facts: MailFacts, *, has_plot: bool) -> dict[str, Any]:
    incident = facts.incident
    age_s = (facts.now_ns - incident.onset_time_ns) / 1e9
    return {
        "facts": facts,
        "incident": incident,
        "lead": mail.lead(facts),
        "ending": mail.ending(facts),
        "since": mail.clock(incident.onset_time_ns),
        "step": "" if incident.onset_step is None else f"{incident.onset_step:,}",
        "age": duration(age_s),
        "evidence": mail.evidence_lines(facts),
        "candidates": mail.candidate_lines(facts.candidates),
        "plot_cid": PLOT_ID if has_plot else "",
        "plot_width": WIDTH_PX,
        "plot_height": HEIGHT_PX,
    }
