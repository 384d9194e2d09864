"""The section of an order's page that says how to start the training again."""

import pytest

from apps.rollbacks import services
from tests.rollback_story import ADA, asked

PATH = "/runs/boom/orders/{}/"


@pytest.fixture
def order(incident):
    return services.request(asked(skip_ranges=((990, 992),)))


def page(operator, order):
    return operator.get(PATH.format(order.id)).content.decode()


def test_it_shows_command_arguments_and_what_is_made(operator, order):
    text = page(operator, order)
    assert "How to start it" in text
    assert "torchtitan, told from the names" in text
    assert "lastgood resume-point boom --prepare" in text
    assert f"--checkpoint.folder /data/boom.rollback-{order.id}" in text
    assert "<code>step-900</code>, a link to <code>/data/boom/step-900</code>" in text
    assert "<code>--checkpoint.load_step</code>" in text
    assert text.count("Arguments, at this and every later start") == 1


def test_an_order_that_is_over_says_nothing_of_a_start(operator, order):
    services.cancel(order.run_id, order.id, ADA, "wrong step")
    assert "How to start it" not in page(operator, order)


def test_a_reader_sees_it_too(reader, order):
    assert "How to start it" in page(reader, order)
