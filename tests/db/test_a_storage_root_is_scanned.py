"""apps.checkpoints.scanning, on a real disk."""

import shutil

import pytest

from apps.accounts.records import SYSTEM
from apps.checkpoints import roots, roots_store, scanning, store
from apps.checkpoints.domain.codes import CheckpointFinding, Level
from apps.checkpoints.domain.lifecycle import State
from apps.checkpoints.root_records import Outcome, RootRule
from apps.checkpoints.storage import places, process, scan_work
from apps.checkpoints.storage.process import ChildFailed
from apps.checkpoints.storage.protocol import ListingSeen, StepSeen
from apps.core.clock import now_ns
from apps.core.errors import Refused
from apps.runs import store as runs
from tests.ckpt_trees import answers_here, cut, dcp_files, lay

pytestmark = pytest.mark.django_db


@pytest.fixture
def disk(tmp_path, settings, monkeypatch):
    """A folder that may be looked at."""
    monkeypatch.setattr(scanning, "answers", answers_here)
    settings.CHECKPOINT_ROOTS = (places.parse(str(tmp_path)),)
    return tmp_path


@pytest.fixture
def run_id():
    return runs.ensure_run("r")


def rule(uri, run_id=None, **said):
    return RootRule(str(uri), run_id, said.pop("project", ""), said.pop("pattern", ""), 300, **said)


def look(root_id):
    roots_store.hurry(root_id, now_ns())
    return scanning.scan(root_id)


def added(uri, run_id=None, **said):
    return roots.add(rule(uri, run_id, **said), SYSTEM, now_ns())


def states(run_id):
    return {info.step: info.state for info in store.checkpoints(run_id)}


def test_a_real_child_registers_and_verifies_a_checkpoint(disk, run_id, monkeypatch):
    lay(disk / "step-100")
    monkeypatch.setattr(scanning, "answers", process.answers)
    root_id = added(disk, run_id)
    found = look(root_id)
    assert (found.outcome, found.steps, found.broken) == (Outcome.WHOLE, 1, 0)
    (info,) = store.checkpoints(run_id)
    assert (info.step, info.state, info.level) == (100, State.VERIFIED, Level.HEADERS_VERIFIED)
    assert (info.path, info.source) == (str(disk / "step-100"), "scan")
    assert info.files == {name: len(content) for name, content in dcp_files().items()}
    assert info.look.bytes_read == found.bytes_read < info.look.bytes_total
    kept = roots_store.get(root_id)
    assert kept.last == found
    assert [one.free_bytes for one in kept.rooms] == [found.free_bytes]
    assert kept.next_at_ns > now_ns()


def test_the_same_again_is_not_read_and_a_change_is_found(disk, run_id):
    step = lay(disk / "step-100")
    root_id = added(disk, run_id)
    look(root_id)
    again = look(root_id)
    assert (again.steps, again.same, again.bytes_read) == (1, 1, 0)
    cut(step / "__2_0.distcp")
    assert look(root_id).broken == 1
    again = look(root_id)
    assert (again.same, again.broken) == (1, 1)
    (info,) = store.checkpoints(run_id)
    assert {"TRUNCATED", "INVENTORY_MISMATCH"} <= {one.code for one in info.findings}
    assert not info.complete


def test_what_is_gone_is_lost_and_may_come_back(disk, run_id):
    lay(disk / "step-100")
    lay(disk / "step-200")
    root_id = added(disk, run_id)
    look(root_id)
    shutil.rmtree(disk / "step-200")
    assert look(root_id).lost == 1
    assert states(run_id)[100] == State.VERIFIED
    assert states(run_id)[200] in (State.LOST, State.DELETED)
    lay(disk / "step-200")
    assert look(root_id).same == 1
    assert states(run_id)[200] == State.VERIFIED


def test_an_empty_folder_on_another_mount_loses_nothing(disk, run_id, monkeypatch):
    lay(disk / "step-100")
    root_id = added(disk, run_id)
    look(root_id)
    shutil.rmtree(disk / "step-100")
    monkeypatch.setattr(scanning, "_note_room", lambda look, seen: None)
    found = look(root_id)
    assert (found.outcome, found.lost) == (Outcome.PARTIAL, 0)
    assert "is it mounted?" in found.message
    assert states(run_id) == {100: State.VERIFIED}


def test_a_root_that_is_not_there_loses_nothing(disk, run_id):
    lay(disk / "ckpt" / "step-100")
    root_id = added(disk / "ckpt", run_id)
    look(root_id)
    shutil.rmtree(disk / "ckpt")
    found = look(root_id)
    assert found.outcome == Outcome.FAILED
    assert "it is not there; see that it is mounted" in found.message
    assert states(run_id) == {100: State.VERIFIED}


def test_what_a_killed_child_said_before_counts_and_the_rest_comes_later(disk, run_id, monkeypatch):
    lay(disk / "step-100")
    lay(disk / "step-200")
    root_id = added(disk, run_id)
    whole = scanning.answers

    def killed(ask, limits):
        for answer in whole(ask, limits):
            yield answer
            if isinstance(answer, StepSeen):
                raise ChildFailed("it was ended by signal 9")

    monkeypatch.setattr(scanning, "answers", killed)
    found = look(root_id)
    assert (found.outcome, found.message) == (Outcome.PARTIAL, "it was ended by signal 9")
    assert states(run_id) == {200: State.VERIFIED}
    monkeypatch.setattr(scanning, "answers", whole)
    assert look(root_id).same == 1
    assert states(run_id) == {100: State.VERIFIED, 200: State.VERIFIED}


def test_a_cut_listing_takes_nothing_for_gone(disk, run_id, monkeypatch):
    lay(disk / "step-100")
    root_id = added(disk, run_id)
    look(root_id)
    cut_short = ListingSeen(1, 1, "it holds more than 1 files", (), (), 0, 0, 0)
    monkeypatch.setattr(scanning, "answers", lambda ask, limits: (one for one in [cut_short]))
    assert look(root_id).outcome == Outcome.PARTIAL
    assert states(run_id) == {100: State.VERIFIED}


def test_a_shared_root_gives_each_run_its_own(disk, run_id):
    other = runs.ensure_run("other")
    lay(disk / "r" / "step-100")
    lay(disk / "other" / "step-200")
    lay(disk / "nobody" / "step-300")
    found = look(added(disk, pattern="{run}"))
    assert found.unknown == ("nobody",)
    assert (states(run_id), states(other)) == ({100: State.VERIFIED}, {200: State.VERIFIED})


def test_a_root_is_looked_at_by_one_at_a_time_and_when_it_is_due(disk, run_id):
    root_id = added(disk, run_id)
    now = now_ns()
    assert roots_store.due(now) == [root_id]
    assert roots_store.claim(root_id, now, now + 10**9)
    assert scanning.scan(root_id) is None
    assert roots_store.due(now + 2 * 10**9) == [root_id]
    assert scanning.scan_due() == 0


def test_a_folder_that_is_no_longer_allowed_is_not_looked_at(disk, run_id, settings):
    lay(disk / "step-100")
    root_id = added(disk, run_id)
    settings.CHECKPOINT_ROOTS = ()
    found = look(root_id)
    assert (found.outcome, found.files) == (Outcome.FAILED, 0)
    assert "CHECKPOINT_ROOTS; it names none" in found.message
    with pytest.raises(Refused):
        added(disk / "x", run_id)


def test_a_root_that_becomes_a_link_to_elsewhere_is_not_looked_at(disk, run_id, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    lay(elsewhere / "step-100")
    (disk / "team").symlink_to(elsewhere)
    for uri in (disk / "team", disk / "team" / "step-100"):
        found = look(added(uri, run_id))
        assert (found.outcome, found.files) == (Outcome.FAILED, 0)
        assert "leads out of the folders that may be looked at" in found.message
    assert states(run_id) == {}


def test_pointers_and_leftovers_stand_beside_the_steps(disk, run_id):
    lay(disk / "tmp-checkpoint-7")
    (beside,) = look(added(disk, run_id)).beside
    assert (beside.code, beside.run_id) == ("STAGING_DEBRIS", run_id)
    assert states(run_id) == {}


def test_a_finding_is_kept_as_it_was_said(disk, run_id):
    cut(lay(disk / "step-100") / "__0_0.distcp")
    look(added(disk, run_id))
    (info,) = store.checkpoints(run_id)
    assert isinstance(info.findings[0], CheckpointFinding)
    assert info.findings[0].fatal


def test_a_step_without_a_number_is_named_and_read_once(disk, run_id):
    lay(disk / "final")
    root_id = added(disk, run_id)
    assert look(root_id).unnumbered == ("final",)
    again = look(root_id)
    assert (again.unnumbered, again.same, again.bytes_read) == (("final",), 1, 0)
    assert states(run_id) == {}
    shutil.rmtree(disk / "final")
    look(root_id)
    assert roots_store.seen(root_id) == {}


def test_files_that_vanish_while_a_step_is_checked_wait_for_the_next_look(
    disk, run_id, monkeypatch
):
    step = lay(disk / "step-100")
    root_id = added(disk, run_id)
    monkeypatch.setattr(scanning, "answers", in_between(lambda: shutil.rmtree(step)))
    found = look(root_id)
    assert (found.steps, found.vanished, found.broken) == (1, 1, 0)
    assert states(run_id) == {}


def in_between(meanwhile):
    """A look during which something happens between listing and reading."""

    def answers(ask, limits):
        whole = scan_work.layouts.find

        def find(*given):
            steps = whole(*given)
            meanwhile()
            return steps

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan_work.layouts, "find", find)
            yield from answers_here(ask, limits)

    return answers
