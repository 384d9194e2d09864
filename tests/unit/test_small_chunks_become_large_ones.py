"""apps.logs.domain.chunk.merging"""

from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.chunk.chunks import decode_chunk, encode_chunk
from apps.logs.domain.chunk.merging import MergePolicy, Small, in_file_order, next_portion
from apps.logs.domain.reading.table import LineTable

POLICY = MergePolicy(lines=100, text_bytes=10_000, most_bytes=20_000, min_chunks=5, apart_ns=1_000)


def small(number, *, first_ns=0, lines=10, text_bytes=100):
    return Small(number, first_ns, first_ns + 10, lines, text_bytes)


def portion(chunks):
    found = next_portion(chunks, POLICY)
    return list(found.chunk_ids), found.final


def test_few_small_chunks_wait():
    assert portion([]) == ([], False)
    assert portion([small(n) for n in range(4)]) == ([], False)


def test_many_small_chunks_are_merged_and_may_be_again():
    assert portion([small(n) for n in range(5)]) == ([0, 1, 2, 3, 4], False)


def test_enough_lines_or_bytes_make_a_chunk_that_stays():
    assert portion([small(n, lines=60) for n in range(9)]) == ([0, 1], True)
    assert portion([small(n, text_bytes=9_000) for n in range(9)]) == ([0, 1], True)


def test_a_large_chunk_is_packed_better_by_itself():
    assert portion([small(0, lines=5_000)]) == ([0], True)


def test_no_chunk_grows_beyond_its_bound():
    assert portion([small(0, text_bytes=9_999), small(1, text_bytes=15_000)]) == ([0], True)


def test_chunks_far_apart_in_time_stay_apart():
    assert portion([small(0), small(1, first_ns=1_011)]) == ([0], True)
    assert portion([small(0), small(1, first_ns=1_010)]) == ([], False)


@given(
    st.lists(
        st.builds(
            Small,
            st.integers(0, 99),
            st.integers(0, 9_000),
            st.integers(9_000, 9_999),
            st.integers(1, 300),
            st.integers(0, 30_000),
        ),
        max_size=30,
    )
)
def test_merging_always_comes_to_an_end(waiting):
    left = sorted(waiting, key=lambda chunk: chunk.first_ns)
    rounds = 0
    while (found := next_portion(left, POLICY)).chunk_ids and found.final:
        left = left[len(found.chunk_ids) :]
        rounds += 1
    assert rounds <= len(waiting)
    assert len(left) < POLICY.min_chunks or found.chunk_ids


def table(source, seqs, words):
    count = len(seqs)
    return LineTable(
        source,
        time_ns=[7 * seq for seq in seqs],
        seq=list(seqs),
        channel=["stderr"] * count,
        local_rank=[None if seq % 2 else 3 for seq in seqs],
        rank=[None if seq % 3 else 11 for seq in seqs],
        severity=[10 * (1 + seq % 5) for seq in seqs],
        step=[None if seq % 4 else seq for seq in seqs],
        text=list(words),
        message_at=[0] * count,
    )


LINES = st.dictionaries(
    st.tuples(st.sampled_from(["a.log", "b.log#1", "c.log"]), st.integers(0, 10**6)),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")),
    min_size=1,
    max_size=40,
)


@given(LINES, st.integers(1, 7))
def test_every_line_is_there_once_and_unchanged(lines, size):
    keys = sorted(lines, key=lambda key: (hash(key), key))
    bodies = []
    for at in range(0, len(keys), size):
        tables = [
            table(source, [seq], [lines[source, seq]]) for source, seq in keys[at : at + size]
        ]
        bodies.append(encode_chunk(tables)[1])
    before = [chunk.line(n) for chunk in map(decode_chunk, bodies) for n in range(len(chunk))]
    merged = in_file_order([decode_chunk(body) for body in bodies])
    chunk = decode_chunk(encode_chunk([merged], level=9)[1])
    after = [chunk.line(n) for n in range(len(chunk))]
    assert after == sorted(before, key=lambda line: (line.source, line.seq))
    assert list(merged) == after
