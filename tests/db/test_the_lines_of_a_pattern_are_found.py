"""logs.store.read_lines with LogQuery.templates"""

import pytest

from apps.logs.domain.pattern.tally import fold
from apps.logs.domain.pattern.templates import template_id
from apps.logs.domain.query.templatematch import shared_word
from apps.logs.store import templates as store
from tests.log_batches import RUN, read_all, send

pytestmark = pytest.mark.django_db

LINES = [
    "2026-11-29 12:00:00,123 [INFO] [rank3] step 7 took 3 ms",
    "[rank3]: step 8 took 44 ms",
    "[rank3]:[W1129 19:52:29.123 ProcessGroupNCCL.cpp:1452] step 9 took 5 ms",
    "step 10 took 6 ms",
    "step 10 took 6 s",
    "gpu-a01:123:456 [0] NCCL INFO comm 0x7fab12 rank 3 - Init COMPLETE",
    "gpu-b02:9:8 [1] NCCL INFO comm 0x123456 rank 4 - Init COMPLETE",
    "loss: 2.5",
    "loss: nan",
    "",
    "====",
    "\N{FULL BLOCK}\N{FULL BLOCK} 45% caf\N{LATIN SMALL LETTER E WITH ACUTE}",
    "2026-11-29T12:00:01Z stderr F [default1]:hello 7",
]
CONSOLE = ["[default0]:[rank0]: hello 5", "[default1]:hello 6", "3: hello 7", "hello 8"]


def counted():
    """template -> how many lines were counted."""
    rows = fold([store.read_tally(RUN, 0, 0, 2**31 - 1)], whole=True).rows
    return {int(row["template"]): int(row["lines"]) for row in rows}


@pytest.mark.parametrize(
    ("lines", "changes"),
    [(LINES, {}), (CONSOLE, {"channel": "console", "local_rank": None})],
)
def test_as_many_lines_are_found_as_were_counted(lines, changes):
    send("".join(f"{line}\n" for line in lines), **changes)
    found = counted()
    assert sum(found.values()) == len(lines)
    assert {t: len(read_all(templates=(t,))) for t in found} == found


def test_lines_of_several_templates_come_together_in_their_order():
    send("".join(f"{line}\n" for line in LINES))
    ids = (template_id("step 1 took 2 s"), template_id("loss: nan"))
    assert [line.text for line in read_all(templates=ids)] == ["step 10 took 6 s", "loss: nan"]


def test_a_template_that_nobody_said_has_no_lines():
    send("hello\n")
    assert read_all(templates=(7,)) == []


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (["NCCL transport/net#_ib <num> retrying", "is retrying now"], "retrying"),
        (["one text", "other words"], ""),
        (["<num> de#af b#", "faded"], ""),
        ([], ""),
    ],
)
def test_chunks_are_chosen_by_a_word_that_all_the_templates_share(texts, word):
    assert shared_word(texts) == word
