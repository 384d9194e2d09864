"""The export of an incident: a ZIP with Markdown, plots and JSON; Markdown or JSON alone."""

import io
import json
import zipfile

import pytest

from apps.incidents import services
from tests.rollback_story import ADA


@pytest.fixture
def noted(incident):
    services.remark(
        incident.run_id,
        incident.id,
        "rate *halved*",
        key="k",
        actor=ADA,
        now_ns=incident.opened_at_ns,
    )
    return incident


def test_the_zip_holds_the_text_the_pictures_it_shows_and_the_json(operator, noted):
    answer = operator.get(f"/incidents/{noted.id}/export.zip")
    assert answer["Content-Disposition"] == f'attachment; filename="INC-{noted.id}.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        folder = f"INC-{noted.id}"
        assert sorted(archive.namelist()) == [
            f"{folder}/incident.json",
            f"{folder}/plots/loss.png",
            f"{folder}/post-mortem.md",
        ]
        text = archive.read(f"{folder}/post-mortem.md").decode()
        assert archive.read(f"{folder}/plots/loss.png").startswith(b"\x89PNG")
        assert json.loads(archive.read(f"{folder}/incident.json"))["run"] == "boom"
    assert "](plots/loss.png)" in text
    assert "> rate \\*halved\\*" in text
    assert "step 900 (attempt 0): eligible" in text


def test_the_text_alone_points_at_no_picture(operator, noted):
    answer = operator.get(f"/incidents/{noted.id}/export.md")
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert "plots/" not in answer.content.decode()


def test_the_json_is_strict(operator, noted):
    def no_nan(name):
        raise ValueError(name)

    answer = operator.get(f"/incidents/{noted.id}/export.json")
    said = json.loads(answer.content, parse_constant=no_nan)
    assert [note["text"] for note in said["notes"]] == ["rate *halved*"]
    assert said["decisions"][0]["actor"] == "lastgood"


def test_another_form_is_not_there(operator, noted):
    assert operator.get(f"/incidents/{noted.id}/export.pdf").status_code == 404
