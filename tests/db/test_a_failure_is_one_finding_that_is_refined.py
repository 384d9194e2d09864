"""logs.services.triage on recorded runs, file by file as they would arrive."""

import pytest
from django.utils import timezone

from apps.logs.domain.reading.parsing import parse_segment
from apps.logs.domain.reading.segments import SegmentMeta
from apps.logs.services import look_again_ns, triage
from apps.logs.store import write_lines
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.failure_cases import SEEN_NS, all_files, consoles, rank_files, recorded

pytestmark = pytest.mark.django_db

S = 1_000_000_000
NOW = SEEN_NS


@pytest.fixture
def run_id():
    found = runs.ensure_run("r")
    runs.open_attempt(found, 0, 0)
    return found


def write(run_id, files):
    """Each file as one batch."""
    for file in files:
        write_lines(run_id, 0, file.node, [file.segment()], batch_id=file.source)


def say(run_id, text, *, offset=0, rank=3):
    """A few lines of one rank."""
    meta = SegmentMeta(
        source=f"x/{rank}/stderr.log",
        channel="stderr",
        local_rank=rank % 2,
        node=f"gpu-{rank // 2}",
        offset=offset,
        seen_ns=NOW,
    )
    parsed = parse_segment(meta, text.encode())
    write_lines(run_id, 0, meta.node, [parsed], batch_id=f"{rank}-{offset}")
    return offset + len(text)


def step(number, rank=3):
    return f"2026-11-29 20:00:{number:02d}.000 [INFO] [rank{rank}] step {number} loss=1.5\n"


@pytest.mark.parametrize(
    ("run", "rank", "node", "fault_class"),
    [
        ("hang_r5", 5, "gpu-b02", "hang_no_error"),
        ("exc_r6", 6, "gpu-b02", "dataloader_worker"),
    ],
)
def test_a_recorded_failure(run_id, run, rank, node, fault_class):
    write(run_id, all_files(recorded(run)))
    (finding,) = triage(run_id, 0, NOW)
    assert (finding.key, finding.kind, finding.page) == ("failure:a0", "failure", True)
    assert (finding.rank, finding.node) == (rank, node)
    assert finding.facts["fault_class"] == fault_class
    assert finding.onset_step == 110
    assert finding.suspects[0].evidence


@pytest.mark.parametrize("run", ["quiet", "badbatch"])
def test_a_recorded_run_without_failure(run_id, run):
    write(run_id, all_files(recorded(run)))
    assert triage(run_id, 0, NOW) == []
    assert triage(run_id, 0, NOW + 60 * S) == []
    assert look_again_ns(run_id, 0) is None


def test_it_is_given_out_until_it_is_settled(run_id):
    write(run_id, all_files(recorded("hang_r5")))
    (first,) = triage(run_id, 0, NOW)
    assert first.facts["settled"] is False
    assert triage(run_id, 0, NOW + S) == [first]
    assert look_again_ns(run_id, 0) == NOW + 3 * S
    (second,) = triage(run_id, 0, NOW + 3 * S)
    assert (second.key, second.facts["settled"]) == (first.key, True)
    assert triage(run_id, 0, NOW + 99 * S) == []
    assert look_again_ns(run_id, 0) is None


def test_later_lines_refine_the_same_finding(run_id):
    folder = recorded("hang_r5")
    write(run_id, consoles(folder)[:1])
    before = triage(run_id, 0, NOW)
    write(run_id, [*consoles(folder)[1:], *rank_files(folder)])
    (after,) = triage(run_id, 0, NOW + S)
    assert [f.key for f in before] == [after.key]
    assert before[0].rank != 5
    assert (after.rank, after.node) == (5, "gpu-b02")


def test_an_untouched_attempt_costs_one_query(run_id, django_assert_num_queries):
    say(run_id, step(1))
    with django_assert_num_queries(3):  # savepoint, state, release
        assert triage(run_id, 0, NOW) == []


def test_an_error_that_the_rank_gets_over_is_no_failure(run_id):
    say(run_id, step(1, rank=1), rank=1)
    end = say(run_id, step(1) + "RuntimeError: read timeout, retry 1/5\n")
    assert triage(run_id, 0, NOW) == []
    assert look_again_ns(run_id, 0) == NOW + 20 * S
    say(run_id, step(2), offset=end)
    assert triage(run_id, 0, NOW + 5 * S) == []
    assert triage(run_id, 0, NOW + 60 * S) == []


def three_other_ranks(run_id):
    for rank in range(3):
        say(run_id, step(1, rank), rank=rank)


def test_an_error_without_progress_is_a_failure_after_a_while(run_id):
    three_other_ranks(run_id)
    say(run_id, step(1) + "KeyError: 'x'\n")
    assert triage(run_id, 0, NOW) == []
    assert look_again_ns(run_id, 0) == NOW + 20 * S
    (finding,) = triage(run_id, 0, NOW + 20 * S)
    assert (finding.rank, finding.facts["fault_class"]) == (3, "py_exception")


def test_a_rank_that_goes_on_after_all_closes_the_finding(run_id):
    three_other_ranks(run_id)
    end = say(run_id, step(1) + "KeyError: 'x'\n")
    triage(run_id, 0, NOW)
    triage(run_id, 0, NOW + 20 * S)
    say(run_id, step(2), offset=end)
    (finding,) = triage(run_id, 0, NOW + 30 * S)
    assert finding.key == "failure:a0"
    assert finding.facts["recovered"]
    assert finding.closed_time_ns == NOW + 30 * S


@pytest.mark.parametrize("exit_code", [0])
def test_noise_at_the_end_of_a_good_run_is_no_failure(run_id, exit_code):
    three_other_ranks(run_id)
    say(run_id, step(1) + "OSError: [Errno 32] Broken pipe\n")
    runs.note_progress(run_id, 0, Progress(exit_code=exit_code), timezone.now())
    triage(run_id, 0, NOW)
    assert triage(run_id, 0, NOW + 60 * S) == []


def test_errors_of_an_attempt_that_was_replaced_are_no_failure(run_id):
    three_other_ranks(run_id)
    say(run_id, step(1) + "OSError: [Errno 32] Broken pipe\n")
    runs.open_attempt(run_id, 1, 1)
    triage(run_id, 0, NOW)
    assert triage(run_id, 0, NOW + 60 * S) == []
