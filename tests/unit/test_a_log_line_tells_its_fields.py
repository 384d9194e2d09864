"""core.logline.LineFormatter, as the settings use it"""

import logging
import sys

import pytest
from django.conf import settings

from apps.core.logline import LineFormatter


@pytest.fixture
def line():
    """The text of a record without its time."""

    def show(message, *args, exc_info=None, **extra):
        logger = logging.getLogger("writer.loop")
        record = logger.makeRecord(
            logger.name, logging.WARNING, "loop.py", 1, message, args, exc_info, extra=extra
        )
        return LineFormatter().format(record).split(" ", 2)[2]

    return show


def test_an_event_key_stands_before_its_fields(line):
    said = line("writer.waits", run="r", reason="connection refused", attempt=None)
    assert said == ("WARNING writer.loop writer.waits attempt=None reason=connection refused run=r")


def test_a_sentence_stays_a_sentence(line):
    assert line("%s is attempt %d", "w1", 3) == "WARNING writer.loop w1 is attempt 3"


def test_objects_are_not_printed(line):
    assert line("refused", request=object(), status_code=404).endswith("refused status_code=404")


def test_a_traceback_follows_the_line(line):
    try:
        raise ValueError("odd data")
    except ValueError:
        first, *rest = line("analysis.failed", exc_info=sys.exc_info(), run="r").splitlines()
    assert first.endswith("analysis.failed run=r")
    assert rest[-1] == "ValueError: odd data"


def test_every_process_uses_it():
    assert settings.LOGGING["formatters"]["line"] == {"()": "apps.core.logline.LineFormatter"}
