"""/styleguide/: for administrators; no partial of templates/components is missing on it."""

from pathlib import Path

TEMPLATES = Path(__file__).parents[2] / "templates"


def test_every_component_is_on_it(operator):
    source = (TEMPLATES / "dashboard" / "styleguide.html").read_text(encoding="utf-8")
    parts = sorted(path.name for path in (TEMPLATES / "components").glob("_*.html"))
    assert parts
    assert [part for part in parts if f"components/{part}" not in source] == []
    assert operator.get("/styleguide/").status_code == 200


def test_every_icon_of_the_sprite_is_on_it(operator):
    page = operator.get("/styleguide/").content.decode()
    sprite = (TEMPLATES.parent / "static" / "icons.svg").read_text(encoding="utf-8")
    assert page.count("<code>") >= sprite.count("<symbol")


def test_it_is_not_there_for_others(reader):
    assert reader.get("/styleguide/").status_code == 404
