import pytest

from apps.checkpoints import services, store
from apps.core.records import CheckpointSeen
from tests import ckpt_samples

pytestmark = pytest.mark.django_db
RUN = 7


def _seen(step=100, files=None, **given):
    return CheckpointSeen(
        step=step,
        path=f"/data/run/checkpoints/step-{step}",
        saved_at_ns=given.pop("saved_at_ns", 1_000 + step),
        save_s=0.5,
        files=ckpt_samples.inventory() if files is None else files,
        **given,
    )


def test_a_new_checkpoint_is_kept_with_its_inventory():
    assert services.record(RUN, 0, [_seen()]) == 1
    (kept,) = store.checkpoints(RUN)
    assert (kept.attempt, kept.step, kept.path) == (0, 100, "/data/run/checkpoints/step-100")
    assert kept.files == ckpt_samples.inventory()
    assert kept.bytes == sum(ckpt_samples.inventory().values())
    assert (kept.level, kept.framework, kept.complete) == ("committed", "dcp", True)


def test_the_same_announcement_again_changes_nothing():
    services.record(RUN, 0, [_seen()])
    before = store.checkpoints(RUN)
    assert services.record(RUN, 0, [_seen(saved_at_ns=9_999), _seen()]) == 0
    assert store.checkpoints(RUN) == before


def test_other_files_for_the_same_step_are_a_finding():
    services.record(RUN, 0, [_seen()])
    changed = {**ckpt_samples.inventory(), "__3_0.distcp": 5}
    assert services.record(RUN, 0, [_seen(files=changed)]) == 1
    (kept,) = store.checkpoints(RUN)
    assert kept.files == ckpt_samples.inventory()
    assert [f.message for f in kept.findings] == [
        "step 100 was announced again with other files: __3_0.distcp has 5 bytes, had 5281035"
    ]
    assert not kept.complete
    assert services.record(RUN, 0, [_seen(files=changed)]) == 0


def test_the_same_step_of_another_attempt_is_another_checkpoint():
    services.record(RUN, 0, [_seen()])
    services.record(RUN, 1, [_seen(files={".metadata": 1, "__0_0.distcp": 1})])
    assert [(c.attempt, c.step) for c in store.checkpoints(RUN)] == [(0, 100), (1, 100)]
    assert all(c.complete for c in store.checkpoints(RUN))


def test_an_unfinished_save_is_kept_and_not_complete():
    services.record(RUN, 0, [_seen(files={"__0_0.distcp": 10})])
    (kept,) = store.checkpoints(RUN)
    assert (kept.level, kept.complete) == ("listed", False)
    assert [f.code for f in kept.findings] == ["NO_COMMIT_MARKER"]


def test_recording_a_new_checkpoint_costs_few_statements(django_assert_num_queries):
    with django_assert_num_queries(3):
        services.record(RUN, 0, [_seen()])


def test_hosts_that_each_tell_their_own_files_do_not_contradict_each_other():
    for rank in range(3):
        services.record(RUN, 0, [_seen(files={f"rng_state_{rank}.pth": 9})])
    (kept,) = store.checkpoints(RUN)
    assert [f.code for f in kept.findings] == ["NON_SHARED_STORAGE"]
    assert kept.files == {"rng_state_0.pth": 9}
