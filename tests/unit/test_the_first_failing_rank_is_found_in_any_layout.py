"""workers.benches.casefiles and triage: injected failures of two torchrun agents"""

import json

import pytest

from apps.core.errors import AppError
from apps.logs.domain.triage.classify import taxonomy
from tests.failure_cases import SAMPLES, recorded
from workers.benches import triage
from workers.benches.report import BenchOptions
from workers.benches.triage import Answer, answer_of

CASES = SAMPLES / "cases"


@pytest.mark.parametrize(
    ("case", "rank", "host", "fault_class"),
    [
        ("nots-console", 3, "node-b", "exit_sigsegv"),
        ("cr-console", 1, "node-a", "py_exception"),
        ("v-oom-torchrun", 2, "node-b", "cuda_oom"),
        ("restarts-torchrun", 2, "node-b", "py_exception"),
        ("ckpttrunc-merged", 1, None, "ckpt_corrupt"),
        ("dlbus-cri", 1, "node-a", "exit_sigbus"),
        ("exit0-perrank", 2, "node-b", "early_exit_zero"),
    ],
)
def test_the_files_alone_name_rank_host_and_fault(case, rank, host, fault_class):
    found, _ = answer_of(CASES / case, taxonomy())
    assert found == Answer(rank, host, fault_class, "high")


def test_the_one_that_is_ahead_of_all_who_wait_left_them():
    found, _ = answer_of(CASES / "skip-slurm", taxonomy())
    assert found == Answer(1, None, "early_exit_zero", "medium")


def test_what_cannot_be_known_is_left_open():
    found, _ = answer_of(CASES / "nan-perrank", taxonomy())
    assert found == Answer(None, None, "loss_scale_min", "none")


def test_a_folder_of_jobs_is_judged_and_counted(tmp_path):
    for case, rank in (("nots-console", 3), ("cr-console", 0), ("nan-perrank", None)):
        own = tmp_path / case
        own.mkdir(parents=True)
        for file in (CASES / case).iterdir():
            (own / file.name).write_bytes(file.read_bytes())
        truth = {"first_failing_rank": rank, "answerable": rank is not None}
        (own / "truth.json").write_text(json.dumps(truth))
    report = triage.run(BenchOptions(data=tmp_path))
    assert report.details["nots-console"]["rank"] == 3
    assert {name: report.figures[name] for name in ("cases", "ranks_to_find", "ranks_right")} == {
        "cases": 3, "ranks_to_find": 2, "ranks_right": 1,
    }  # fmt: skip
    assert report.figures["ranks_wrong_and_sure"] == 1
    assert report.figures["not_to_find_left_open"] == 1


def test_a_folder_without_jobs_is_refused(tmp_path):
    with pytest.raises(AppError, match=r"no truth\.json"):
        triage.run(BenchOptions(data=tmp_path))


@pytest.mark.parametrize(
    ("run", "rank", "host", "fault_class"),
    [
        ("hang_r5", 5, "gpu-b02", "hang_no_error"),
        ("exc_r6", 6, "gpu-b02", "dataloader_worker"),
    ],
)
def test_the_log_folder_of_torchrun_needs_no_other_names(run, rank, host, fault_class):
    found, _ = answer_of(recorded(run), taxonomy())
    assert found == Answer(rank, host, fault_class, "high")
