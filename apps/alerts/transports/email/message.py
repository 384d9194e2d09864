"""The one function that turns facts into a message. An upgrade of Django touches only this file."""

from __future__ import annotations

from email.mime.image import MIMEImage
from email.utils import formatdate

from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from apps.alerts.domain import mail
from apps.alerts.domain.body import Body, body_of
from apps.alerts.domain.bundle import Bundle, bundle_subject
from apps.alerts.transports.email.plot import HEIGHT_PX, WIDTH_PX

PLOT_ID = "plot"
TEMPLATES = ("alerts/email/mail.txt", "alerts/email/mail.html")


def build(bundle: Bundle, plot_png: bytes, sender: str) -> EmailMultiAlternatives:
    """A mail about one incident: multipart/related(multipart/alternative(text, html), image/png),
    or without the image when there is no plot.

    Django 5.2 attaches inline images through the undocumented `mixed_subtype`; Django 6.1 raises
    AttributeError for it. There, attach an `email.message.MIMEPart` instead (the image then sits
    in multipart/mixed) and change the golden file beside the test.
    """
    facts = bundle.first
    message = _message(bundle, mail.subject(facts), sender, PLOT_ID if plot_png else "")
    if plot_png:
        message.mixed_subtype = "related"  # type: ignore[attr-defined]
        message.attach(_inline(plot_png))
    return message


def build_bundle(bundle: Bundle, sender: str) -> EmailMultiAlternatives:
    """A mail about several incidents, without a picture; part of the threads of all of them."""
    message = _message(bundle, bundle_subject(bundle), sender)
    roots = dict.fromkeys(mail.root(one) for one in bundle.facts)
    message.extra_headers["References"] = " ".join(roots)
    return message


def _message(
    bundle: Bundle, subject: str, sender: str, plot_cid: str = ""
) -> EmailMultiAlternatives:
    facts = bundle.first
    headers = mail.headers(facts) | {"Date": formatdate(facts.dated_ns / 1e9, usegmt=True)}
    return render(body_of(bundle), subject, (sender, facts.recipient), headers, plot_cid)


def render(
    body: Body,
    subject: str,
    sender_and_recipient: tuple[str, str],
    headers: dict[str, str],
    plot_cid: str = "",
) -> EmailMultiAlternatives:
    """A mail whose text and HTML say the same. plot_cid: of the picture to come, "" for none."""
    sender, recipient = sender_and_recipient
    context = {
        "body": body,
        "plot_cid": plot_cid,
        "plot_width": WIDTH_PX,
        "plot_height": HEIGHT_PX,
    }
    message = EmailMultiAlternatives(
        subject=subject,
        body=render_to_string(TEMPLATES[0], context),
        from_email=sender,
        to=[recipient],
        headers=headers,
    )
    html = render_to_string(TEMPLATES[1], context)
    message.attach_alternative(html, "text/html")
    return message


def _inline(png: bytes) -> MIMEImage:
    image = MIMEImage(png, "png")
    image.add_header("Content-ID", f"<{PLOT_ID}>")
    image.add_header("Content-Disposition", "inline", filename="loss.png")
    return image
