import orjson
import pytest

from apps.checkpoints import marks, overdue, services, store
from apps.checkpoints.domain.spoken import said
from apps.checkpoints.saying import say
from apps.core.records import CheckpointSeen
from apps.ingest.digest import digest
from apps.rollbacks import loads_store
from tests.factories import envelope, log_body
from tests.incident_samples import SECOND, at
from tests.rollback_story import KEY, start

pytestmark = pytest.mark.django_db
ROOT = "/fs/boom/ckpt"


def printed(run_id, *texts, attempt=0, at_ns=None):
    lines = [(at(100) + n * SECOND if at_ns is None else at_ns, t) for n, t in enumerate(texts)]
    return +say(run_id, attempt, said(lines))


def saving(step):
    return f"saving checkpoint at iteration {step:7d} to {ROOT} in torch_dist format"


def saved(step):
    return f"  successfully saved checkpoint from iteration {step:7d} to {ROOT}"


def only(run_id):
    (kept,) = store.checkpoints(run_id)
    return kept


def test_a_save_that_begins_and_ends_is_requested_then_committed():
    run_id = start(0)
    printed(run_id, saving(100))
    kept = only(run_id)
    assert (kept.state, kept.level, kept.path) == ("requested", "listed", f"{ROOT}/iter_0000100")
    assert (kept.source, kept.why) == ("log", "Megatron began to save it")
    assert printed(run_id, saving(100), "", "", saved(100)) == {"checkpoints_committed": 1}
    kept = only(run_id)
    assert (kept.state, kept.save_s, kept.complete) == ("committed", 3.0, False)
    assert [f.code for f in kept.findings] == ["UNCHECKED"]
    assert printed(run_id, saving(100), "", "", saved(100)) == {}
    assert only(run_id) == kept


def test_ranks_that_print_what_is_known_cost_one_look(django_assert_num_queries):
    run_id = start(0)
    steps = range(100, 2_100, 100)
    printed(run_id, *map(saving, steps), *map(saved, steps))
    with django_assert_num_queries(1):
        assert printed(run_id, *map(saving, steps), *map(saved, steps)) == {}


def test_many_saves_cost_the_statements_of_one(django_assert_num_queries):
    run_id = start(0)
    for first, last in ((100, 200), (1_000, 9_000)):
        steps = range(first, last, 100)
        with django_assert_num_queries(3):  # which are there, which are known, and all at once
            counts = printed(run_id, *map(saving, steps), *map(saved, steps))
        assert counts == {
            "checkpoints_requested": len(steps),
            "checkpoints_committed": len(steps),
        }
    kept = store.checkpoints(run_id)
    assert [(one.step, one.state, one.save_s) for one in kept] == [
        (100, "committed", 1.0),
        *((step, "committed", 80.0) for step in range(1_000, 9_000, 100)),
    ]


def test_what_was_deleted_and_saved_again_in_one_batch_is_there():
    run_id = start(0)
    again = "Saving model checkpoint to out/checkpoint-3"
    gone = "Deleting older checkpoint [out/checkpoint-3] due to args.save_total_limit"
    known = "Saved checkpoint to out/checkpoint-3"
    printed(run_id, known)
    assert printed(run_id, known, gone, gone, again, known, known, at_ns=at(300)) == {
        "checkpoints_deleted": 1,
        "checkpoints_requested": 1,
        "checkpoints_committed": 1,
    }
    assert only(run_id).state == "committed"
    assert printed(run_id, gone, again, known, gone, at_ns=at(400))["checkpoints_deleted"] == 2
    assert only(run_id).state == "deleted"


def test_an_announcement_says_more_than_a_line():
    run_id = start(0)
    printed(run_id, saving(100), saved(100))
    files = {".metadata": 5, "__0_0.distcp": 10}
    services.record(run_id, 0, [CheckpointSeen(100, ROOT, at(101), 2.0, files)])
    announced = only(run_id)
    assert (announced.files, announced.complete) == (files, True)
    printed(run_id, saved(100))
    assert only(run_id) == announced


def test_what_was_loaded_is_restored_and_kept_while_it_loads():
    run_id = start(0)
    printed(run_id, "Checkpoint for step 250 saved.")
    loading = "Loading the checkpoint from /fs/checkpoint/step-250."
    assert printed(run_id, loading, attempt=1) == {"checkpoints_loading": 1}
    ((place, (lease,)),) = marks.protections(run_id, at(101)).items()
    assert (place, lease.name) == ((0, 250), "restore of attempt 1")
    finished = "Finished loading the checkpoint in 61.68 seconds."
    assert printed(run_id, finished, attempt=1) == {"checkpoints_restored": 1}
    kept = only(run_id)
    assert (kept.level, kept.complete) == ("restored", True)
    assert kept.why == "attempt 1 has loaded it (torchtitan printed that it was loaded)"
    assert marks.protections(run_id, at(101)) == {}


def test_the_weights_of_another_run_are_no_checkpoint_of_this_one():
    run_id = start(0)
    counts = printed(run_id, "Loaded checkpoint /models/base/step_500000/state.pt")
    assert (counts, store.checkpoints(run_id)) == ({"checkpoints_unknown": 1}, [])


def test_a_rotation_is_told_by_who_does_it():
    run_id = start(0)
    printed(run_id, "Saved checkpoint to out/checkpoint-3")
    gone = "Deleting older checkpoint [out/checkpoint-3] due to args.save_total_limit"
    assert printed(run_id, gone, at_ns=at(300)) == {"checkpoints_deleted": 1}
    assert (only(run_id).state, only(run_id).why) == ("deleted", "HF Trainer deleted it")
    assert printed(run_id, gone, at_ns=at(300)) == {}


def test_three_usual_saves_later_a_save_has_failed():
    run_id = start(0)
    for step in (100, 200, 300):
        files = {".metadata": 5, "__0_0.distcp": 10}
        services.record(run_id, 0, [CheckpointSeen(step, f"/s-{step}", at(step), 40.0, files)])
    printed(run_id, saving(400), at_ns=at(400))
    assert overdue.fail_overdue({run_id: at(519)}, at(9_000)) == 0
    assert overdue.fail_overdue({run_id: at(521)}, at(9_000)) == 1
    late = store.get(run_id, 0, 400)
    assert (late.state, late.complete) == ("failed", False)
    assert late.why == "not committed 2 min after it was requested, a save usually takes 40 s"
    (faults,) = [s.faults for s in store.newest_saves([run_id])[run_id] if s.step == 400]
    assert faults == (("NO_COMMIT_MARKER", late.why),)
    printed(run_id, saved(400), at_ns=at(600))
    assert store.get(run_id, 0, 400).state == "committed"


def test_a_framework_that_prints_no_end_is_never_late():
    run_id = start(0)
    printed(run_id, "Saving model checkpoint to out/checkpoint-9")
    assert overdue.fail_overdue({}, at(99_999)) == 0
    assert only(run_id).state == "requested"


def test_lines_of_a_log_file_are_heard():
    run_id = start(0)
    text = f"{saving(100)}\nstep 100 loss=2.0\n{saved(100)}\n{saving(2000)}"
    body = log_body(text[:-30].encode(), partial=True)
    assert digest([envelope("logs", body, run_id=run_id, run_key=KEY)]).written == 1
    assert [(c.step, c.state.value) for c in store.checkpoints(run_id)] == [(100, "committed")]


def test_what_an_attempt_has_loaded_is_kept_for_the_checks_of_its_start():
    run_id = start(0)
    line = f"  successfully loaded checkpoint from {ROOT} [ t 1/1, p 1/1 ] at iteration 900\n"
    digest([envelope("logs", log_body(line.encode()), run_id=run_id, run_key=KEY)])
    (loaded,) = loads_store.of(run_id, 0)
    assert (loaded.step, loaded.path) == (900, f"{ROOT}/iter_0000900")


def test_a_program_says_by_http_what_lines_would():
    run_id = start(0)
    save = {"ts": at(100) / 1e9, "step": 100, "path": "/s-100"}
    events = [
        save | {"event": "requested"},
        save | {"files": {".metadata": 5, "__0_0.distcp": 9}},
        save | {"event": "loading", "ts": at(110) / 1e9},
    ]
    for sent in (events[:1], events[1:]):
        body = orjson.dumps({"attempt": 0, "events": sent})
        digest([envelope("checkpoints", body, run_id=run_id, run_key=KEY)])
    kept = only(run_id)
    assert (kept.state, kept.complete, kept.source) == ("committed", True, "http")
    assert list(marks.protections(run_id, at(111))) == [(0, 100)]
    assert [one.path for one in loads_store.of(run_id, 0)] == ["/s-100"]


def test_a_save_that_was_requested_by_http_fails_like_any_other():
    run_id = start(0)
    asked = {"ts": at(100) / 1e9, "step": 100, "path": "/s-100", "event": "requested"}
    body = orjson.dumps({"attempt": 0, "events": [asked]})
    digest([envelope("checkpoints", body, run_id=run_id, run_key=KEY)])
    assert overdue.fail_overdue({run_id: at(159)}, at(159)) == 0
    assert overdue.fail_overdue({run_id: at(161)}, at(161)) == 1
    assert only(run_id).state == "failed"
