"""logs.store.opened and logs.domain.openchunk"""

import pytest

from apps.logs.domain.chunk.chunks import BadChunk, encode_chunk
from apps.logs.domain.chunk.openchunk import OpenChunk
from apps.logs.store.opened import Opened
from tests.log_chunks import table_of

BODY = encode_chunk([table_of([f"step {number} loss={number / 7}" for number in range(500)])])[1]


def a_chunk():
    return OpenChunk(BODY)


def test_it_is_weighed_by_what_was_opened_of_it():
    chunk = a_chunk()
    packed = chunk.held_bytes
    assert packed == len(BODY)
    assert len(chunk.texts) == 500
    with_texts = chunk.held_bytes
    assert chunk.columns.text(3) == "step 3 loss=0.42857142857142855"
    assert packed < with_texts < chunk.held_bytes


def test_bytes_that_are_no_chunk_are_refused_each_time():
    broken = OpenChunk(BODY[:60])
    for _ in range(2):
        with pytest.raises(BadChunk):
            _ = broken.texts


def test_the_chunk_that_nobody_used_longest_goes_first():
    chunks = [a_chunk() for _ in range(3)]
    kept = Opened(most_bytes=2 * len(BODY))
    kept.keep("a", chunks[0])
    kept.keep("b", chunks[1])
    kept.keep("a", chunks[0])
    kept.keep("c", chunks[2])
    assert [kept.get(key) for key in "abc"] == [chunks[0], None, chunks[2]]


def test_one_that_was_opened_further_makes_others_go():
    small, grown = a_chunk(), a_chunk()
    kept = Opened(most_bytes=2 * len(BODY))
    kept.keep("small", small)
    kept.keep("grown", grown)
    assert grown.columns.text(0)
    kept.keep("grown", grown)
    assert kept.get("small") is None
    assert kept.get("grown") is None  # larger than all together may be


def test_nothing_is_left_after_clear():
    kept = Opened()
    kept.keep("a", a_chunk())
    kept.clear()
    assert kept.get("a") is None
