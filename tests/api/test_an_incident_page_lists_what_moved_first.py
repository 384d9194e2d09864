"""The list of movers on an incident's page, in each of its states."""

import re
from dataclasses import replace

import pytest

from apps.incidents import store
from apps.incidents.domain.earliest import move_of
from apps.incidents.domain.movers import SHOWN, Anchor, Looked, in_order
from apps.metrics.domain.layer_keys import recogniser
from tests.incident_samples import at

LOSS = Anchor(1001, at(1001), loss=True)


def move(series, step, **more):
    made = move_of(series, step, 9.0, recogniser().recognise(series))
    return replace(made, time_ns=at(step), before=2.0, value=9.5, **more)


MOVES = [
    move("update_norm/layers.<3>", 689), move("act_max/layers.4", 985),
    move("rank/local_loss", 1001, rank=5), move("grad_norm/layers.2", 1010),
]  # fmt: skip


@pytest.fixture
def card(operator, incident):
    """Saves movers and gives their card as the page shows it, spaces joined."""

    def show(moves, anchor=LOSS, looked=None):
        found = in_order(moves, anchor, looked or Looked(61, 0, layered=True))
        store.save_movers(incident.run_id, incident.id, found)
        page = operator.get(f"/incidents/{incident.id}/").content.decode()
        (part,) = re.findall(r'<section class="card movers".*?</section>', page, re.DOTALL)
        return " ".join(re.sub(r"<[^>]+>", " ", part).split()), part

    return show


def test_the_first_is_highlighted_and_those_after_the_loss_are_apart(card):
    text, html = card(MOVES)
    assert "leads count from the loss, step 1,001" in text
    assert html.count('class="first"') == 1
    expected = (
        "layers.&lt;3&gt;", "Layer 4, activation max", "Rank 5, local loss",
        "1 that moved after the loss",
        "Layer 2, grad norm",
    )  # fmt: skip
    order = [text.index(words) for words in expected]
    assert order == sorted(order)
    assert "312 steps · 5 min" in text
    assert "with the loss" in text
    assert "9 steps later" in text
    assert "4 of 61 series moved." in text
    assert "logs no statistics of layers" not in text


def test_without_a_loss_nobody_is_behind_it(card):
    text, _ = card(MOVES, Anchor(689, at(689)))
    assert "after the loss" not in text
    assert "steps from the onset, 689" in text
    assert "296 steps later" in text


def test_a_long_list_is_folded(card):
    moves = [move(f"grad_norm/layers.{n}", 990) for n in range(SHOWN + 3)]
    assert "3 more that moved before the loss" in card(moves)[0]


def test_a_run_without_layers_is_told_what_it_misses(card):
    text, _ = card([], looked=Looked(3, 0, layered=False))
    assert "No series left its band before the loss did." in text
    assert "logs no statistics of layers" in text


def test_series_that_were_too_many_are_counted(card):
    text, _ = card(MOVES, looked=Looked(8_192, 100, layered=True))
    assert "100 more were not looked at" in text
