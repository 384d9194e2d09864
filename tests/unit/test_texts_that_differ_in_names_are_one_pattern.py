"""logs.domain.mining"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.pattern.mining import ANY, MiningPolicy, mine

WORDS = st.sampled_from(
    ["loss", "<num>", "nan", "done", "failed", "all_reduce", "AllGather", "gpu-a#", "x/y.bin", "at"]
)
TEXTS = st.lists(st.lists(WORDS, max_size=5).map(" ".join), max_size=12)


def groups(*texts, **policy):
    found = mine(texts, MiningPolicy(**policy))
    return [(" ".join(group.words), group.members) for group in found]


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (
            "NCCL INFO AllReduce: on <hex>",
            "NCCL INFO AllGather: on <hex>",
            "NCCL INFO <*> on <hex>",
        ),
        ("node gpu-a# is lost", "node cpu-b# is lost", "node <*> is lost"),
        (
            'File "<path>/a.py", line <num>, in train_step',
            'File "<path>/b.py", line <num>, in all_reduce',
            "File <*> line <num>, in <*>",
        ),
        (
            "loading doc-idx mapping now",
            "loading sample-idx mapping now",
            "loading <*> mapping now",
        ),
    ],
)
def test_names_give_way_to_a_wildcard(one, other, text):
    assert groups(one, other) == [(text, [0, 1])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("step <num> loss <num> at <time>", "step <num> loss nan at <time>"),
        ("saving the checkpoint shard completed", "saving the checkpoint shard failed"),
        ("job is in state RUNNING now", "job is in state FAILED now"),
        ("pg=default_pg seq <num> is late", "stream=side_stream seq <num> is late"),
        ("a b c <path>/x.bin", "a b c x_<num>"),
        ("one two three", "one two three four"),
        ("all_reduce is late today", "all_gather is late today"),
        ("at x_y p_q r_s", "at a_b c_d e_f"),
    ],
)
def test_what_is_said_is_never_merged_away(one, other):
    assert len(groups(one, other)) == 2


@given(TEXTS)
def test_every_text_is_in_one_pattern_that_fits_it(texts):
    found = mine(texts)
    assert sorted(n for group in found for n in group.members) == list(range(len(texts)))
    for group in found:
        assert group.members == sorted(group.members)
        for number in group.members:
            pairs = zip(group.words, texts[number].split(), strict=True)
            assert all(word in (ANY, own) for word, own in pairs)


@given(TEXTS)
def test_the_same_texts_give_the_same_patterns_and_equal_texts_one(texts):
    found = mine(texts)
    assert [group.members for group in mine(texts)] == [group.members for group in found]
    of = {number: n for n, group in enumerate(found) for number in group.members}
    first = {}
    for number, text in enumerate(texts):
        assert of[number] == of[first.setdefault(text, number)]


def test_beyond_its_bound_a_list_of_groups_grows_no_more():
    texts = ["go a", "go b", "go c", "go c"]
    assert len(groups(*texts, most_groups=3)) == 3
    assert len(groups(*texts, most_groups=2)) == 4
