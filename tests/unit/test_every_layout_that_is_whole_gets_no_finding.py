import pytest

from apps.checkpoints.domain import layouts
from apps.checkpoints.domain.layouts import LAYOUTS
from tests import ckpt_files


@pytest.mark.parametrize("layout", sorted(ckpt_files.GOOD))
def test_a_whole_checkpoint_is_verified_without_a_finding(layout):
    files = ckpt_files.GOOD[layout]()
    reports, root = ckpt_files.checked(files)
    assert root == ()
    assert [f for report in reports for f in report.findings] == []
    assert {report.level for report in reports} == {"headers_verified"}


@pytest.mark.parametrize("layout", sorted(ckpt_files.GOOD))
def test_it_is_found_by_its_layout(layout):
    found = layouts.find(ckpt_files.tree(ckpt_files.GOOD[layout]()))
    assert {step.layout for step in found} == {layout}


def test_there_is_a_whole_example_of_every_layout():
    assert {layout.name for layout in LAYOUTS} == set(ckpt_files.GOOD)


@pytest.mark.parametrize("layout", sorted(ckpt_files.GOOD))
def test_every_report_says_that_the_numbers_were_not_read(layout):
    reports, _ = ckpt_files.checked(ckpt_files.GOOD[layout]())
    assert all("only a full hash" in report.unchecked[-1] for report in reports)
