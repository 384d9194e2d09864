"""What Slurm prints, and names that must not become options or lists."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.rollbacks.domain import slurm
from apps.rollbacks.domain.slurm import Job, SlurmConfig

FOLDERS = ["/shared/jobs", "/home/ml"]


def line(number, state="RUNNING", restarts=0, comment="(null)"):
    return f"{number:<24}{state:<24}{restarts:<12}{comment:<120}"


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), max_size=60))
def test_a_comment_never_moves_another_column(comment):
    (job,) = slurm.jobs(line(7, restarts=3, comment=f"{comment}x RUNNING 9"))
    assert (job.id, job.state, job.restarts) == ("7", "RUNNING", 3)
    assert job.comment == f"{comment}x RUNNING 9"


def test_jobs_come_by_number():
    assert [j.id for j in slurm.jobs("\n".join(map(line, (10, 9, 100))))] == ["9", "10", "100"]
    assert slurm.jobs(line(1))[0].comment == ""


def test_the_job_that_runs_is_meant_and_of_two_nobody_guesses():
    ended, runs = Job("5", "FAILED", 0, ""), Job("4", "RUNNING", 0, "")
    assert slurm.the_one([ended, runs], "train") == runs
    assert slurm.the_one([Job("3", "COMPLETED", 0, ""), ended], "train") == ended
    assert slurm.the_one([], "train") is None
    with pytest.raises(AppError, match="2 jobs are called train: 4, 6"):
        slurm.the_one([runs, Job("6", "PENDING", 0, ""), ended], "train")


def test_nodes_are_found_without_their_domain():
    known = {"gpu-a01", "gpu-a02"}
    assert slurm.nodes(["gpu-a02", "gpu-a01.x.org", "gpu-a02.x.org"], known) == (
        "gpu-a02", "gpu-a01",
    )  # fmt: skip


@given(st.text(max_size=20))
def test_only_plain_names_of_nodes_get_through(name):
    """Slurm reads brackets and commas as lists, and a leading hyphen would be an option."""
    try:
        (found,) = slurm.nodes([name], {name, "gpu-a01"})
    except AppError as error:
        assert "Slurm knows no node" in str(error)
    else:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+-]*", found)


@pytest.mark.parametrize("name", ["gpu-[1-9]", "a,b", "-w", "", "ALL nodes"])
def test_a_list_of_nodes_is_no_node(name):
    with pytest.raises(AppError, match="Slurm knows no node"):
        slurm.nodes([name], {name})


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({}, "job"),
        ({"job": "a,b"}, "job"),
        ({"job": "--uid=0"}, "job"),
        ({"job": "t", "user": "root x"}, "user"),
        ({"job": "t", "user": "ml", "script": "/home/ml/a.sh"}, "user"),
        ({"job": "t", "script": "a.sh"}, "script"),
        ({"job": "t", "script": "/etc/passwd"}, "script"),
        ({"job": "t", "script": "/shared/jobs/../../etc/passwd"}, "script"),
        ({"job": "t", "script": "/shared/jobsuite/a.sh"}, "script"),
        ({"job": "t", "workdir": "x"}, "workdir"),
    ],
)
def test_what_must_not_be_submitted_is_refused_with_its_field(said, where):
    with pytest.raises(AppError) as refused:
        slurm.config(said, FOLDERS)
    assert refused.value.where == where


def test_a_configuration_is_kept_as_entered():
    said = {"job": " train ", "script": "/shared/jobs/llm/train.sbatch", "drain": True}
    assert slurm.config(said, FOLDERS) == SlurmConfig(
        "train", script="/shared/jobs/llm/train.sbatch", drain=True
    )
    assert slurm.config({"job": "train", "user": "ml"}, []) == SlurmConfig("train", user="ml")


@pytest.mark.parametrize(
    ("text", "passing", "taken"),
    [
        ("Kill job error on job id 1: Job can not be altered now, try again later", True, False),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv", True, True),
        ("Job is pending execution for job 1", True, False),
        ("squeue: error: Unable to contact slurm controller (connect failure)", True, False),
        ("allocation failure: Requested node configuration is not available", False, False),
        ("Batch job submission failed: Invalid account or account/partition", False, False),
    ],
)  # fmt: skip
def test_errors_that_pass_are_told_from_those_that_stay(text, passing, taken):
    assert (slurm.passing(text), slurm.maybe_taken(text)) == (passing, taken)


def test_slurm_says_for_how_long_it_remembers():
    assert slurm.memory_s("MessageTimeout = 10 sec\nMinJobAge               = 300 sec\n") == 200
    assert slurm.memory_s("") == 0
