from dataclasses import replace

import pytest

from apps.checkpoints import copies_store, marks, services, store
from apps.checkpoints.domain.codes import Code, Level, finding
from apps.checkpoints.domain.inventory import Stamp
from apps.checkpoints.records import Look, Observation
from apps.core.records import CheckpointSeen
from tests.incident_samples import at
from tests.rollback_story import ADA, RESTART_NS, start

pytestmark = pytest.mark.django_db
URI = "/fs/boom/step-100"
FILES = {".metadata": Stamp(5, at(100)), "__0_0.distcp": Stamp(10, at(100))}
LOOK = Look(at(200), bytes_read=5, bytes_total=15, unchecked=("payload bits",))


def seen(files=None, **given):
    return Observation(
        step=given.pop("step", 100),
        uri=given.pop("uri", URI),
        saved_at_ns=given.pop("saved_at_ns", at(100)),
        framework="dcp",
        level=given.pop("level", Level.HEADERS_VERIFIED),
        inventory=FILES if files is None else files,
        look=given.pop("look", LOOK),
        **given,
    )


def announced(step=100, path=URI, **files):
    sizes = files or {".metadata": 5, "__0_0.distcp": 10}
    return CheckpointSeen(step, path, at(step), 0.5, sizes)


def told(info):
    return info.state.value, info.level, [f.code for f in info.findings], info.complete


def test_what_nobody_announced_is_registered_under_the_attempt_that_ran():
    run_id = start(0)
    info = services.observe(run_id, seen())
    assert (info.place, info.source, info.path, info.inventory) == ((0, 100), "scan", URI, FILES)
    assert told(info) == ("verified", "headers_verified", [], True)
    assert info.look == LOOK


def test_a_look_at_an_announced_one_adds_stamps_and_keeps_its_digest():
    run_id = start(0)
    services.record(run_id, 0, [announced()])
    digest = store.get(run_id, 0, 100).digest
    info = services.observe(run_id, seen({**FILES, "results.json": Stamp(3, 1)}))
    assert (info.digest, info.inventory, info.complete) == (digest, FILES, True)
    assert services.observe(run_id, seen()) == info


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({".metadata": FILES[".metadata"]}, "__0_0.distcp is gone"),
        ({**FILES, "__0_0.distcp": Stamp(4, at(100))}, "__0_0.distcp has 4 bytes, had 10"),
    ],
)
def test_a_file_that_is_gone_or_cut_forbids_a_restore_until_it_is_back(files, words):
    run_id = start(0)
    services.observe(run_id, seen())
    hurt = services.observe(run_id, seen(files))
    assert told(hurt) == ("verified", "headers_verified", ["INVENTORY_MISMATCH"], False)
    assert words in hurt.findings[0].message
    assert services.observe(run_id, seen()).complete


def test_files_written_again_with_the_same_size_are_a_warning():
    run_id = start(0)
    services.observe(run_id, seen())
    touched = {name: replace(stamp, mtime_ns=at(150)) for name, stamp in FILES.items()}
    info = services.observe(run_id, seen(touched))
    assert told(info) == ("verified", "headers_verified", ["REWRITTEN"], True)
    assert info.inventory == FILES


def test_other_bytes_than_those_read_before_forbid_a_restore():
    run_id = start(0)
    whole = seen(level=Level.HASH_VERIFIED, look=replace(LOOK, content_digest="a" * 64))
    assert services.observe(run_id, whole).level == "hash_verified"
    later = services.observe(run_id, seen())
    assert (later.level, later.look.content_digest) == ("hash_verified", "a" * 64)
    other = replace(whole, look=replace(LOOK, content_digest="b" * 64))
    assert told(services.observe(run_id, other))[2:] == (["INVENTORY_MISMATCH"], False)


def test_a_save_under_way_takes_the_files_it_has_in_the_end():
    run_id = start(0)
    part = {"__0_0.distcp": Stamp(4, at(99))}
    missing = finding(Code.NO_COMMIT_MARKER, "no .metadata")
    first = services.observe(run_id, seen(part, level=Level.LISTED, findings=(missing,)))
    assert told(first) == ("committing", "listed", ["NO_COMMIT_MARKER"], False)
    info = services.observe(run_id, seen())
    assert (told(info)[0], info.inventory) == ("verified", FILES)


def test_names_without_anything_in_common_are_not_compared():
    run_id = start(0)
    services.record(run_id, 0, [announced(**{"a/.metadata": 5, "a/__0_0.distcp": 10})])
    info = services.observe(run_id, seen())
    assert told(info) == ("verified", "headers_verified", ["UNCHECKED"], True)


def test_a_later_attempt_that_saves_into_the_same_place_has_a_checkpoint_of_its_own():
    run_id = start(0)
    services.observe(run_id, seen())
    start(1)
    other = {**FILES, "__0_0.distcp": Stamp(11, at(100) + RESTART_NS)}
    info = services.observe(run_id, seen(other, saved_at_ns=at(100) + RESTART_NS))
    assert (info.attempt, info.complete) == (1, True)
    old = store.get(run_id, 0, 100)
    assert (old.state, old.complete) == ("lost", False)
    assert old.why == "overwritten: attempt 1 saved into /fs/boom/step-100"


def test_a_second_place_is_a_copy_with_findings_of_its_own():
    run_id = start(0)
    services.observe(run_id, seen())
    cut = {**FILES, "__0_0.distcp": Stamp(4, at(300))}
    info = services.observe(run_id, seen(cut, uri="s3://b/step-100"))
    assert (info.path, info.complete) == (URI, True)
    own, copy = copies_store.of_run(run_id, [info])[0, 100]
    assert (own.uri, own.complete, own.tier) == (URI, True, "shared")
    assert (copy.uri, copy.complete, copy.tier, copy.bytes) == (
        "s3://b/step-100",
        False,
        "bucket",
        9,
    )
    assert [f.code for f in copy.findings] == ["INVENTORY_MISMATCH"]


def test_when_its_place_is_gone_a_checkpoint_goes_on_in_its_copy():
    run_id = start(0)
    services.observe(run_id, seen())
    services.observe(run_id, seen(uri="s3://b/step-100"))
    assert [c.uri for c in copies_store.under(run_id, "/fs/boom/")] == [URI]
    info = services.vanished(run_id, (0, 100), URI, at_ns=at(400))
    assert (info.path, info.complete, info.state) == ("s3://b/step-100", True, "verified")
    assert copies_store.under(run_id, "/fs/boom") == []
    gone = services.vanished(run_id, (0, 100), "s3://b/step-100", at_ns=at(500))
    assert (gone.state, gone.complete) == ("lost", False)
    assert "no other complete one is there" in gone.why


def test_one_that_is_hurt_in_its_place_goes_on_in_a_whole_copy():
    run_id = start(0)
    services.observe(run_id, seen())
    services.observe(run_id, seen(uri="s3://b/step-100"))
    info = services.observe(run_id, seen({".metadata": FILES[".metadata"]}))
    assert (info.path, info.complete, info.findings) == ("s3://b/step-100", True, ())
    assert info.why == f"{URI} is damaged; restored from s3://b/step-100 since then"
    places = copies_store.of_run(run_id, [info])[0, 100]
    assert [(p.uri, p.worth.value) for p in places] == [
        ("s3://b/step-100", "complete"),
        (URI, "damaged"),
    ]


def test_the_oldest_of_three_that_goes_is_deleted_unless_somebody_kept_it():
    run_id = start(0)
    for step in (100, 200, 300, 400):
        services.observe(run_id, seen(step=step, uri=f"/fs/boom/step-{step}"))
    marks.pin(run_id, (0, 200), reason="the paper", actor=ADA)
    first = services.vanished(run_id, (0, 100), URI, at_ns=at(500))
    assert (first.state, "a rotation" in first.why) == ("deleted", True)
    pinned = services.vanished(run_id, (0, 200), "/fs/boom/step-200", at_ns=at(500))
    assert (pinned.state, "marked to be kept" in pinned.why) == ("lost", True)
    asked = services.deleted(run_id, (0, 300), why="retention: keep_last 1", at_ns=at(501))
    assert (asked.state, asked.why) == ("deleted", "retention: keep_last 1")
    assert services.observe(run_id, seen()).complete
    assert services.deleted(run_id, (9, 9), why="", at_ns=0) is None
