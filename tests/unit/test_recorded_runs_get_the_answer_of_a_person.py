"""`bench triage --recorded` on the recordings that ship: lines and numbers in one answer."""

from workers.benches.report import BenchOptions
from workers.benches.triage import run


def test_the_true_rank_host_and_class_are_named():
    report = run(BenchOptions(recorded=True))
    named = {name: (told["rank"], told["host"]) for name, told in report.details.items()}
    assert named["hang_r5"] == (5, "gpu-b02")
    assert named["sdc_rollback"] == (5, "gpu-b02")
    assert report.figures["right"] == report.figures["runs"] >= 3
