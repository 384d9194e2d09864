"""apps.checkpoints.deleting, on a real disk with real child processes."""

import pytest
from django.utils import timezone

from apps.accounts.records import SYSTEM
from apps.accounts.store import audit_rows
from apps.checkpoints import deleting, marks, retention, retention_store, roots, scanning, store
from apps.checkpoints.domain.deletion import GRACE_S, State
from apps.checkpoints.domain.lifecycle import State as Life
from apps.checkpoints.domain.retention import Rules
from apps.checkpoints.retention_store import SaidRules
from apps.checkpoints.root_records import RootRule
from apps.checkpoints.storage import places
from apps.core.clock import now_ns
from apps.core.errors import Refused
from apps.rollbacks import keeping
from apps.runs import store as runs
from apps.runs.records import Progress
from tests.bucket_server import KEY_ID, NAME, SECRET
from tests.ckpt_trees import dcp_files, lay

pytestmark = pytest.mark.django_db
HOUR_NS = 3_600 * 10**9
GRACE_NS = GRACE_S * 10**9


@pytest.fixture
def disk(tmp_path, settings):
    """A folder that may be looked at and deleted in."""
    settings.CHECKPOINT_ROOTS = (places.parse(str(tmp_path)),)
    settings.CHECKPOINT_DELETE_ROOTS = settings.CHECKPOINT_ROOTS
    (tmp_path / "team").mkdir()
    return tmp_path / "team"


@pytest.fixture
def run(disk):
    """Four scanned checkpoints, an hour apart; the rules keep the last two and delete."""
    run_id = runs.ensure_run("boat")
    runs.open_attempt(run_id, 0, now_ns() - 9 * HOUR_NS)
    runs.note_progress(run_id, 0, Progress(project="llm"), timezone.now())
    for place, step in enumerate((100, 200, 300, 400)):
        lay(disk / f"step-{step}", now_ns() - (5 - place) * HOUR_NS)
    scanning.scan(roots.add(RootRule(str(disk), run_id, "", "", 300), SYSTEM, now_ns()))
    set_rules(runs.run_by_id(run_id), Rules(last=2))
    return runs.run_by_id(run_id)


def set_rules(run, rules, *, deletes=True):
    seen_ns = retention.rules_of(run).changed_at_ns
    said = SaidRules(rules, deletes)
    retention.set_rules(run, said, actor=SYSTEM, seen_ns=seen_ns, reason="", now_ns=now_ns())


def plan(at_ns=None):
    return deleting.plan_all(keeping.guards, at_ns or now_ns())


def a_day_later():
    return deleting.carry_out(keeping.guards, now_ns() + GRACE_NS + 1, 60.0)


def states(run):
    return {key[1]: one.state for key, one in retention_store.deletions(run.id).items()}


def lying(disk):
    return sorted(int(one.name.removeprefix("step-")) for one in disk.iterdir())


def test_it_waits_for_a_day_then_it_is_gone_and_said_so(disk, run):
    assert plan().planned == 2
    assert plan().planned == 0
    assert deleting.carry_out(keeping.guards, now_ns(), 60.0).deleted == 0
    assert lying(disk) == [100, 200, 300, 400]
    assert a_day_later().deleted == 2
    assert lying(disk) == [300, 400]
    assert states(run) == {100: State.DELETED, 200: State.DELETED}
    life = {info.step: info.state for info in store.checkpoints(run.id)}
    assert (life[100], life[300]) == (Life.DELETED, Life.VERIFIED)
    actions = [row.action for row in audit_rows(10)]
    assert actions.count("checkpoint_deletion.deleted") == 2
    assert "checkpoint_deletion.planned" in actions


def test_the_room_of_the_file_system_is_known(disk, run):
    found = retention.outlook(run, {}, now_ns())
    assert found.free_bytes > 0


def test_what_is_taken_back_stays_and_is_pinned(disk, run):
    plan()
    deleting.take_back(run.id, (0, 200), actor=SYSTEM, reason="the paper", now_ns=now_ns())
    assert a_day_later().deleted == 1
    assert lying(disk) == [200, 300, 400]
    assert plan().planned == 0
    assert "pinned" in keeping.guards(run.id, now_ns())[0, 200][0]


def test_what_somebody_leases_meanwhile_is_spared(disk, run):
    plan()
    until_ns = now_ns() + 2 * GRACE_NS
    marks.lease(run.id, (0, 100), "eval-1", until_ns=until_ns, reason="mmlu")
    assert (a_day_later().spared, lying(disk)) == (1, [100, 300, 400])
    assert states(run)[100] is State.SPARED


def test_nothing_more_is_deleted_once_deleting_is_switched_off(disk, run):
    plan()
    set_rules(run, Rules(last=2), deletes=False)
    assert a_day_later().deleted == 0
    assert plan().planned == 0
    assert set(states(run).values()) == {State.SPARED}
    assert lying(disk) == [100, 200, 300, 400]


def write_more(step):
    (step / "notes.txt").write_text("mine")


def write_again(step):
    file = step / ".metadata"
    file.write_bytes(file.read_bytes())


def lead_elsewhere(step):
    step.rename(step.with_name("moved"))
    step.symlink_to(step.with_name("moved"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (write_more, "1 file more than registered: notes.txt"),
        (write_again, "1 file not as registered: .metadata"),
        (lead_elsewhere, "is a link"),
    ],
)
def test_what_is_not_exactly_the_registered_checkpoint_is_refused(disk, run, change, words):
    plan()
    change(disk / "step-100")
    assert (a_day_later().refused, states(run)[100]) == (1, State.REFUSED)
    assert words in retention_store.deletions(run.id)[0, 100].message
    assert (disk / "step-100" / ".metadata").exists()
    assert store.get(run.id, 0, 100).state is Life.VERIFIED
    assert plan().planned == 0


def test_what_another_run_has_too_is_left_alone(disk, run):
    other = runs.ensure_run("ship")
    runs.open_attempt(other, 0, 0)
    scanning.scan(roots.add(RootRule(str(disk), other, "", "", 300), SYSTEM, now_ns()))
    plan()
    assert a_day_later().refused == 2
    told = retention_store.deletions(run.id)[0, 100].message
    assert "is also step 100 of attempt 0 of ship" in told
    assert lying(disk) == [100, 200, 300, 400]


def test_outside_of_the_folders_where_it_may_nothing_is_deleted(disk, run, settings):
    settings.CHECKPOINT_DELETE_ROOTS = (places.parse("/mnt/else"),)
    plan()
    assert a_day_later().refused == 2
    assert "CHECKPOINT_DELETE_ROOTS" in retention_store.deletions(run.id)[0, 100].message
    assert lying(disk) == [100, 200, 300, 400]


def test_a_link_above_cannot_lead_out_of_them(disk, run, tmp_path_factory):
    """Whoever may write under an allowed folder must not make us delete elsewhere."""
    plan()
    elsewhere = tmp_path_factory.mktemp("other") / "team"
    disk.rename(elsewhere)
    disk.symlink_to(elsewhere)
    assert a_day_later().refused == 2
    assert "outside of where may be deleted" in retention_store.deletions(run.id)[0, 100].message
    assert lying(elsewhere) == [100, 200, 300, 400]


def test_a_deletion_that_was_cut_short_goes_on(disk, run, monkeypatch):
    plan()
    trouble = deleting.Outcome(trouble="it took longer than 240 s")
    with monkeypatch.context() as cut:
        cut.setattr(deleting.erasing, "erase", lambda copy, files: trouble)
        a_day_later()
    assert states(run)[100] is State.DELETING
    (disk / "step-100" / ".metadata").unlink()
    later_ns = now_ns() + GRACE_NS + deleting.AGAIN_S * 10**9 + 2
    assert deleting.carry_out(keeping.guards, later_ns, 60.0).deleted == 2
    assert lying(disk) == [300, 400]


def test_no_more_than_allowed_go_in_an_hour(disk, run, settings):
    settings.CHECKPOINT_DELETES_PER_HOUR = 1
    plan()
    assert a_day_later().deleted == 1
    assert a_day_later().deleted == 0
    assert lying(disk) == [200, 300, 400]


def test_what_has_begun_cannot_be_taken_back(disk, run):
    plan()
    a_day_later()
    with pytest.raises(Refused, match="is deleted: nothing can keep it"):
        deleting.take_back(run.id, (0, 100), actor=SYSTEM, reason="", now_ns=now_ns())


def test_a_checkpoint_in_a_bucket_goes_too(bucket_server, settings, run):
    bucket_server.clear()
    where = f"s3://{NAME}/team/ckpt"
    settings.CHECKPOINT_ROOTS = settings.CHECKPOINT_DELETE_ROOTS = (places.parse(where),)
    settings.CHECKPOINT_BUCKET_URL = bucket_server.url
    settings.CHECKPOINT_BUCKET_REGION = "us-east-1"
    settings.CHECKPOINT_BUCKET_KEY_ID, settings.CHECKPOINT_BUCKET_SECRET = KEY_ID, SECRET
    for step in (1, 2, 3):
        for name, content in dcp_files().items():
            key = f"team/ckpt/step-{step}/{name}"
            bucket_server.client().put_object(Bucket=NAME, Key=key, Body=content)
    far = runs.ensure_run("far")
    runs.open_attempt(far, 0, 0)
    scanning.scan(roots.add(RootRule(where, far, "", "", 300), SYSTEM, now_ns()))
    set_rules(runs.run_by_id(far), Rules(last=2))
    plan()
    deleting.carry_out(keeping.guards, now_ns() + GRACE_NS + 1, 60.0)
    listed = bucket_server.client().list_objects_v2(Bucket=NAME, Prefix="team/ckpt/")
    assert {one["Key"].split("/")[2] for one in listed["Contents"]} == {"step-2", "step-3"}
    assert retention_store.deletions(far)[0, 1].state is State.DELETED
