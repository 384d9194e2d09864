"""dashboard.places: entries whose page exists, of the run at hand, one of them the present one."""

import pytest
from django.template.loader import render_to_string

from apps.dashboard.keys import KEYS
from apps.dashboard.places import RAIL, rail, section


def made(page, *args):
    return "/".join(("", page, *args, ""))


def current(path):
    return [
        entry.slug for group in rail(path, None, made) for entry in group.places if entry.current
    ]


def test_an_entry_without_a_page_is_left_out_and_so_is_a_group_without_entries():
    found = rail("/", None, lambda page, *_: "/" if page == "runs" else None)
    assert [(group.name, [e.slug for e in group.places]) for group in found] == [
        ("first", ["runs"])
    ]


def test_who_looks_at_a_run_is_led_to_its_logs():
    urls = {e.slug: e.url for g in rail("/runs/a/", "a", made) for e in g.places}
    assert (urls["logs"], urls["checkpoints"]) == ("/logs/a/", "/checkpoints/a/")
    assert urls["incidents"] == "/incidents/"


def test_without_a_run_a_person_is_asked_which():
    urls = {e.slug: e.url for g in rail("/", None, made) for e in g.places}
    assert urls["logs"] == "/log_chooser/"


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/", "runs"),
        ("/runs/a/", "runs"),
        ("/runs/a/siblings/", "runs"),
        ("/runs/a/logs/ranks/", "logs"),
        ("/runs/a/retention/", "checkpoints"),
        ("/incidents/4/", "incidents"),
        ("/projects/-/names/", "runs"),
    ],
)
def test_one_entry_is_the_present_one(path, slug):
    assert current(path) == [slug]


def test_the_way_home_has_a_name_where_the_rail_is_too_narrow_for_its_word():
    found = render_to_string("frame/_rail.html", {"rail": []})
    assert 'alt="Lastgood"' in found and '<span aria-hidden="true">Lastgood</span>' in found


def test_elsewhere_none_is():
    assert section("/login/") == ""
    assert current("/search/") == []


def test_every_place_has_a_letter_of_its_own():
    letters = [place.key for _, places in RAIL for place in places]
    assert len(letters) == len(set(letters))


def test_the_map_of_keys_names_no_key_twice_in_one_place():
    for group in KEYS:
        presses = [key.presses for key in group.keys]
        assert len(presses) == len(set(presses))
