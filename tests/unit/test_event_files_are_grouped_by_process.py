"""workers.tailer.eventdirs"""

from hypothesis import given
from hypothesis import strategies as st

from workers.tailer.eventdirs import event_files, group


def events(began_s, *, folder="", host="gpu-a01", pid=7, number=0):
    name = f"events.out.tfevents.{began_s}.{host}"
    name += "" if pid is None else f".{pid}.{number}"
    return f"{folder}/{name}" if folder else name


def processes(*paths):
    """path -> (first file of its process, what stands before its tags)."""
    return {found.path: (found.process, found.under) for found in group(paths)}


def test_a_restart_is_a_process_of_its_own():
    first, second = events(1000), events(2000)
    assert processes(second, first) == {first: (first, ""), second: (second, "")}


def test_a_second_writer_of_a_process_belongs_to_it():
    first, second = events(1000), events(1500, number=1)
    assert processes(first, second)[second] == (first, "")


def test_a_process_number_that_was_used_before_is_another_process():
    first, second, third = events(1000), events(1500, number=1), events(2000)
    assert processes(first, second, third)[third] == (third, "")


def test_a_folder_of_the_same_process_stands_before_its_tags():
    train = events(1000, folder="logs/train")
    valid = events(1000, folder="logs/validation", number=1)
    deeper = events(1000, folder="logs/train/loss_a", number=2)
    found = processes(train, valid, deeper)
    assert found[train] == (train, "")
    assert found[valid] == (train, "validation")
    assert found[deeper] == (train, "loss_a")


def test_a_process_that_only_evaluates_keeps_its_folder_in_the_names():
    assert processes(events(1, folder="runs/eval"))[events(1, folder="runs/eval")][1] == "eval"


def test_a_folder_named_by_the_time_is_no_part_of_a_name():
    first, hparams = events(1000, pid=None), events(1010, folder="1795999365.78", pid=None)
    assert processes(first, hparams)[hparams] == (first, "")


def test_writers_without_a_process_number_are_starts_of_their_folder():
    first, second = events(1000, pid=None), events(2000, pid=None)
    assert processes(first, second)[second] == (second, "")


def test_a_suffix_says_nothing():
    first, second = events(1000) + ".v2", events(1500, number=1) + ".v2"
    assert processes(first, second)[second] == (first, "")


def test_the_files_below_a_folder_are_found(tmp_path):
    for name in ("a/b/events.out.tfevents.1.h", "events.out.tfevents.1.h.profile-empty", "x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [path.name for path in event_files(tmp_path)] == ["events.out.tfevents.1.h"]
    assert list(event_files(tmp_path / "missing")) == []


names = st.builds(
    events,
    st.integers(1, 9),
    folder=st.sampled_from(["", "a", "a/b", "eval"]),
    pid=st.sampled_from([None, 7, 8]),
    number=st.integers(0, 3),
)


@given(st.sets(names | st.text(min_size=1, max_size=12).filter(lambda s: s.strip("./"))))
def test_each_file_has_one_process_whatever_its_name(paths):
    found = group(paths)
    assert sorted(one.path for one in found) == sorted(paths)
    assert all(one.process in paths for one in found)
