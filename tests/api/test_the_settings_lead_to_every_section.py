"""/settings/: one page from which everything that is set is found."""

import pytest
from django.urls import resolve

from apps.dashboard.context import address
from apps.dashboard.settings_places import SECTIONS, sections


def test_every_section_is_on_the_index_with_what_it_is_for(reader):
    page = reader.get("/settings/").content.decode()
    listed = sections("/settings/", address)
    assert [one.slug for one in listed] == [one.slug for one in SECTIONS]
    assert [one for one in listed if f'href="{one.url}"' not in page] == []
    assert [one for one in listed if one.about not in page] == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.slug)
def test_a_section_leads_to_a_page(section):
    assert resolve(address(section.page))


def test_a_section_without_a_page_is_left_out():
    assert sections("/settings/", lambda page, *_: None) == []


def test_the_section_of_a_page_is_marked():
    def made(page, *_):
        return f"/settings/{page}/"

    listed = sections("/settings/members/4/", made)
    assert [one.slug for one in listed if one.current] == ["members"]


def test_the_rail_and_the_keys_know_it(reader):
    page = reader.get("/settings/").content.decode()
    assert 'href="/settings/" data-go="t" aria-current="page"' in page
    assert "<kbd>g</kbd> <kbd>t</kbd> </dt><dd>settings</dd>" in page
