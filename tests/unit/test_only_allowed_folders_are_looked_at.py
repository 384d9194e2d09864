"""apps.checkpoints.storage.places and pattern: addresses, prefixes, and whose folder is whose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.checkpoints.storage import pattern
from apps.checkpoints.storage.pattern import BadPattern, Part
from apps.checkpoints.storage.places import BadPlace, Place, allowed, parse

names = st.text(st.characters(codec="utf-8", exclude_characters="/", categories=("L", "N")))
segments = st.lists(names.filter(lambda name: name not in ("", ".", "..")), max_size=4)


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("/mnt/ckpt", "/mnt/ckpt"),
        (" /mnt//ckpt/ ", "/mnt/ckpt"),
        ("file:///mnt/ckpt", "/mnt/ckpt"),
        ("/", "/"),
        ("s3://team-a/runs/x/", "s3://team-a/runs/x"),
        ("s3://team-a", "s3://team-a"),
    ],
)
def test_an_address_has_one_spelling(text, uri):
    assert parse(text).uri == uri
    assert parse(uri) == parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "mnt/ckpt", "/mnt/../etc", "/mnt/./x", "s3://", "s3://A_B/x", "s3://b/../c", "gs://b/x",
     "http://x/y", "/a\0b", "/a\nb", "/" + "x" * 2_000],
)  # fmt: skip
def test_what_names_no_folder_is_refused(text):
    with pytest.raises(BadPlace) as caught:
        parse(text)
    assert "s3://bucket/prefix" in caught.value.hint


@given(segments, segments)
def test_a_folder_holds_itself_and_what_lies_below(above, below):
    folder = parse("/" + "/".join(above))
    assert folder.holds(folder)
    assert folder.holds(parse("/" + "/".join([*above, *below])))


def test_a_name_that_only_begins_alike_is_outside():
    assert not parse("/mnt/a").holds(parse("/mnt/ab"))
    assert not parse("s3://bkt/x").holds(parse("s3://bkt/xy"))
    assert not parse("/x").holds(Place("x", ""))


def test_nothing_is_allowed_unless_a_prefix_says_so():
    assert not allowed(parse("/mnt/a"), [])
    assert allowed(parse("/mnt/a/run"), [parse("s3://bkt"), parse("/mnt/a")])
    assert not allowed(parse("/mnt"), [parse("/mnt/a")])


@pytest.mark.parametrize(
    "text", ["", "checkpoints", "{run}/{run}", "../{run}", "a//{run}", "{run}\0", "*a*a*a*a*{run}"]
)
def test_a_pattern_says_once_where_the_run_stands(text):
    with pytest.raises(BadPattern):
        pattern.check(text)


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ("{run}", {Part("a", "a"), Part("b-1", "b-1"), Part("exp-c", "exp-c")}),
        ("{run}/ckpt", {Part("a", "a/ckpt"), Part("b-1", "b-1/ckpt")}),
        ("exp-{run}/*", {Part("c", "exp-c/x")}),
        ("*-{run}", {Part("1", "b-1"), Part("c", "exp-c")}),
    ],
)
def test_a_shared_root_is_split_by_run(shape, found):
    files = {"a/ckpt/1": 1, "a/ckpt/s/2": 2, "b-1/ckpt/1": 3, "exp-c/x/y": 4, "stray": 5}
    parts = pattern.split(files, pattern.check(shape))
    assert set(parts) == found
    assert all(f"{part.folder}/{name}" in files for part, below in parts.items() for name in below)


@given(st.dictionaries(segments.map("/".join).filter(bool), st.integers()), names.filter(bool))
def test_a_split_neither_doubles_nor_invents_a_file(files, prefix):
    whole = {f"{prefix}/{name}": value for name, value in files.items()}
    parts = pattern.split(whole, "{run}")
    assert list(parts.values()) == ([files] if files else [])
