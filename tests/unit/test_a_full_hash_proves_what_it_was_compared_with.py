"""apps.checkpoints.domain.hashing: what the reading of every byte proves."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.domain.hashing import Hashed, digest, judge

BIG = Hashed(10_000, "a" * 64)
SUMMED = replace(BIG, summed=True)
SMALL = Hashed(5, "b" * 64)

files = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.builds(Hashed, st.integers(0, 10**6), st.text("0123456789abcdef", min_size=64, max_size=64)),
    min_size=1,
    max_size=6,
)


def sizes(read):
    return {name: one.bytes for name, one in read.items()}


def codes(verdict):
    return [one.code for one in verdict.findings]


def test_a_first_reading_without_checksums_verifies_nothing_and_says_so():
    verdict = judge({"w": 10_000}, {"w": BIG}, {}, {})
    assert (verdict.verified, codes(verdict)) == (False, [])
    assert verdict.unproved.startswith("w: read for the first time")


def test_checksums_of_the_file_verify_it_and_small_files_beside_it():
    verdict = judge({"w": 10_000, "m": 5}, {"w": SUMMED, "m": SMALL}, {}, {})
    assert verdict.verified
    assert verdict.unproved.startswith("m: ")


def test_a_checksum_that_disagrees_names_the_part():
    bad = replace(SUMMED, bad_parts=("archive/data/0",))
    (one,) = judge({"w": 10_000}, {"w": bad}, {}, {}).findings
    assert (one.code, one.fatal) == ("HASH_MISMATCH", True)
    assert "w: archive/data/0" in one.message


def test_what_the_framework_wrote_down_counts():
    assert judge({"w": 10_000}, {"w": BIG}, {}, {"w": "a" * 64}).verified
    assert codes(judge({"w": 10_000}, {"w": BIG}, {}, {"w": "c" * 64})) == ["HASH_MISMATCH"]


def test_another_size_is_no_other_content():
    verdict = judge({"w": 9}, {"w": BIG}, {"w": replace(BIG, sha256="c" * 64)}, {})
    assert codes(verdict) == ["INVENTORY_MISMATCH"]
    assert not verdict.verified


@given(files)
def test_the_same_bytes_again_are_verified(read):
    verdict = judge(sizes(read), read, read, {})
    assert (verdict.verified, verdict.findings, verdict.unproved) == (True, (), "")


@given(files, st.data())
def test_any_other_content_is_found_and_changes_the_digest(read, data):
    name = data.draw(st.sampled_from(sorted(read)))
    other = {**read, name: replace(read[name], sha256="0" * 63 + "f")}
    if other != read:
        assert codes(judge(sizes(read), other, read, {})) == ["HASH_MISMATCH"]
        assert digest(other) != digest(read)
