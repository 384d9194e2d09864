"""alerts.transports.email.message: the structure of the message, guarded by golden files.

After a wanted change: look at the mail in a browser, light and dark, 600 and 360 pixels wide, then
write the new text into tests/samples/mail/.
"""

import email
import email.policy
import html
import re
from pathlib import Path

import numpy as np
import pytest

from apps.alerts.domain.bundle import Bundle
from apps.alerts.transports.email.message import build, build_bundle
from apps.alerts.transports.email.plot import Curve, describe, draw
from tests import mail_samples
from tests.incident_samples import incident
from tests.mail_samples import SAMPLES, opening

GOLDEN = Path(__file__).parents[1] / "samples" / "mail"


def _parsed(mail, png=b"\x89PNG"):
    sender = "Lastgood <lastgood@example.org>"
    made = build(mail, png, sender) if len(mail.facts) == 1 else build_bundle(mail, sender)
    message = made.message()
    return email.message_from_bytes(message.as_bytes(), policy=email.policy.default)


def _tree(part, depth=0):
    name = "  " * depth + part.get_content_type()
    children = part.iter_parts() if part.is_multipart() else ()
    return "\n".join([name, *(_tree(child, depth + 1) for child in children)])


def _golden(message):
    headers = "\n".join(
        f"{name}: {value}" for name, value in message.items() if name != "Content-Type"
    )
    text = message.get_body(("plain",)).get_content()
    html = message.get_body(("html",)).get_content()
    return f"{headers}\n\n{_tree(message)}\n\n{text}\n{html}"


def _words(text):
    """The words of a part, without its links and its marks of a list."""
    shown = re.sub(r"https?://\S+", "", text)
    return re.findall(r"[^\s:·*-]+", shown)


def _seen(page):
    """What a person reads of an HTML part; of a picture its alternative text."""
    body = page[page.index("<body") :]
    body = re.sub(r'<img[^>]* alt="([^"]*)"[^>]*>', r"\1", body)
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<!--.*?-->", "", body)))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_message_is_the_golden_one(name):
    assert _golden(_parsed(SAMPLES[name])) == (GOLDEN / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("png", [b"\x89PNG", b""])
def test_text_and_html_say_the_same(name, png):
    message = _parsed(SAMPLES[name], png)
    text = message.get_body(("plain",)).get_content()
    page = message.get_body(("html",)).get_content()
    assert _words(_seen(page)) == _words(text)
    assert re.findall(r'href="(https?://[^"]+)"', page) == re.findall(r"https?://\S+", text)


def test_the_picture_is_related_to_the_html_by_its_content_id():
    message = _parsed(SAMPLES["opening"])
    assert _tree(message) == "\n".join(
        [
            "multipart/related",
            "  multipart/alternative",
            "    text/plain",
            "    text/html",
            "  image/png",
        ]
    )
    picture = list(message.iter_parts())[1]
    assert picture["Content-ID"] == "<plot>"
    assert picture.get_content_disposition() == "inline"
    assert 'src="cid:plot"' in message.get_body(("html",)).get_content()


def test_without_a_picture_it_is_a_plain_alternative():
    message = _parsed(Bundle((opening(plot_alt=""),)), b"")
    assert _tree(message) == "multipart/alternative\n  text/plain\n  text/html"
    assert "cid:" not in message.get_body(("html",)).get_content()


def test_words_from_outside_are_escaped_in_the_html_and_kept_in_the_text():
    nasty = opening(incident=incident(title="Loss <script>alert(1)</script> & co"))
    message = _parsed(Bundle((nasty,)), b"")
    assert "<script>" not in message.get_body(("html",)).get_content()
    assert "Loss <script>alert(1)</script> & co" in message.get_body(("plain",)).get_content()


def test_a_header_cannot_be_smuggled_in():
    message = _parsed(Bundle((opening(run_key="x\nBcc: thief@example.org"),)), b"")
    assert message["Bcc"] is None
    assert message["X-Run"] == "x Bcc: thief@example.org"


def test_the_whole_message_is_small():
    assert (
        len(build(SAMPLES["opening"], draw(mail_samples.curve()), "a@b.c").message().as_bytes())
        < 60_000
    )


def test_the_picture_is_a_png_of_the_promised_size():
    png = draw(mail_samples.curve())
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (600, 240)


def test_the_picture_is_told_in_numbers():
    assert describe(mail_samples.curve()) == (
        "train/loss, steps 900 to 1,099: median 0.969 before, median 3.5 from step 1,001 on, "
        "1 NaN or inf"
    )


@pytest.mark.parametrize(
    ("onset", "words"),
    [
        (3, "median 1 before, nothing logged yet from step 3 on, no NaN"),
        (2, "median 1 before, median 1 from step 2 on, no NaN"),
        (None, "median 1, no NaN"),
    ],
)
def test_what_is_not_logged_yet_is_not_called_broken(onset, words):
    curve = Curve("loss", np.arange(3, dtype=np.int64), np.ones(3), onset)
    assert describe(curve) == f"loss, steps 0 to 2: {words}"


@pytest.mark.parametrize("values", [[], [np.nan, np.inf], [np.nan]])
def test_nothing_finite_makes_no_picture(values):
    step = np.arange(len(values), dtype=np.int64)
    assert draw(Curve("train/loss", step, np.array(values, dtype=np.float64), 1)) == b""


def test_huge_values_can_be_drawn():
    values = np.array([1.0, 1e308, 2.0, -np.inf])
    assert draw(Curve("train/loss", np.arange(4, dtype=np.int64), values, 1))
