"""apps.checkpoints.domain.zipsums: CRCs of torch's zip files, in one pass."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.zipsums import Summing, sums
from tests.ckpt_trees import dcp_files

SHARD = dcp_files()["__1_0.distcp"]


def reader(content):
    return lambda start, length: content[start : start + length]


def archive(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for number, content in enumerate(entries):
            made.writestr(f"data/{number}", content)
    return out.getvalue()


def bad(content, size=4096):
    found = sums(reader(content), len(content))
    summing = Summing(found.entries)
    for start in range(0, len(content), size):
        summing.feed(content[start : start + size])
    return summing.end()


def test_a_shard_of_many_archives_is_covered_from_end_to_end():
    found = sums(reader(SHARD), len(SHARD))
    assert found.whole
    assert len({entry.at for entry in found.entries}) == len(found.entries) > 40
    assert bad(SHARD) == ()


@pytest.mark.parametrize("size", [1, 29, 30, 31, 64, 4096, 1 << 20])
def test_where_the_stream_is_cut_changes_nothing(size):
    content = SHARD[:2_000]
    content = archive([b"a" * 10, b"", b"b" * 99]) + archive([b"c" * 200])
    assert bad(content, size) == ()
    at = content.index(b"b" * 99) + 50
    assert bad(content[:at] + b"X" + content[at + 1 :], size) == ("data/2",)


@given(st.lists(st.lists(st.binary(max_size=80), min_size=1, max_size=4), min_size=1, max_size=4),
       st.data())  # fmt: skip
def test_any_changed_byte_of_any_content_is_found(archives, data):
    content = b"".join(map(archive, archives))
    assert bad(content, data.draw(st.integers(1, 100))) == ()
    entries = [e for e in sums(reader(content), len(content)).entries if e.size]
    if entries:
        entry = data.draw(st.sampled_from(entries))
        start = entry.at + 30 + len(entry.name)
        at = start + data.draw(st.integers(0, entry.size - 1))
        changed = content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))])
        assert entry.name in bad(changed + content[at + 1 :], data.draw(st.integers(1, 100)))


@given(st.binary(max_size=300))
def test_what_is_no_archive_has_no_sums(content):
    assert not sums(reader(content), len(content)).whole


def test_a_foreign_beginning_is_not_covered():
    content = b"x" * 100 + archive([b"abc"])
    found = sums(reader(content), len(content))
    assert [entry.name for entry in found.entries] == ["data/0"]
    assert not found.whole
    assert bad(content) == ()


def test_a_file_that_ends_early_is_bad():
    found = sums(reader(SHARD), len(SHARD))
    summing = Summing(found.entries)
    summing.feed(SHARD[: len(SHARD) // 2])
    assert summing.end()


def test_each_archive_costs_one_read_and_too_many_are_left_alone():
    asked = []

    def read(start, length):
        asked.append((start, length))
        return SHARD[start : start + length]

    archives = {e.at for e in sums(read, len(SHARD)).entries if e.name.endswith("data.pkl")}
    assert len(asked) == len(archives) > 10
    assert sums(read, len(SHARD), len(archives)).whole
    few = sums(read, len(SHARD), len(archives) - 1)
    assert (few.entries, few.whole) == ((), False)
