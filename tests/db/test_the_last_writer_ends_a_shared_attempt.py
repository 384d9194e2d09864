"""The end of an attempt: the last of several writers says it, a synced copy hardly ever."""

import orjson
import pytest
from msgspec.structs import replace

from apps.ingest.digest import digest
from apps.ingest.wandb import process_store as processes
from apps.ingest.wandb.endings import SILENT_NS, end_silent
from apps.runs import store as runs
from tests import factories

T0 = factories.T0_NS
SECOND = 1_000_000_000


@pytest.fixture
def run(db):
    run_id = runs.ensure_run("r")
    runs.open_attempt(run_id, 0, T0)
    return run_id


@pytest.fixture
def end(run):
    def said(writer="", code=0, at_ns=T0, summary=None):
        files = {"wandb-summary.json": {"offset": 0, "content": [orjson.dumps(summary).decode()]}}
        body = {"complete": True, "exitcode": code, "files": files if summary else {}}
        envelope = factories.envelope(
            "file_stream", orjson.dumps(body), run_id=run, batch=f"{writer}-{code}-{at_ns}"
        )
        return digest([replace(envelope, attempt=0, writer=writer, received_ns=at_ns)])

    return said


def writers(run, *names, heard_ns=T0):
    for name in names:
        processes.add_process(run, 0, "", heard_ns, name)


def exit_code(run):
    return runs.attempt(run, 0).exit_code


def test_a_lone_process_ends_its_attempt(run, end):
    writers(run, "")
    end(code=3)
    assert exit_code(run) == 3


def test_the_first_of_several_writers_ends_nothing(run, end):
    writers(run, "a", "b")
    end("a", code=7)
    assert exit_code(run) is None
    end("b")
    assert exit_code(run) == 7


def test_writers_that_say_no_end_have_ended_when_they_are_silent(run, end):
    writers(run, "primary", "other")
    end("primary")
    assert (end_silent(T0 + SILENT_NS - 1), exit_code(run)) == (0, None)
    assert (end_silent(T0 + SILENT_NS), exit_code(run)) == (1, 0)
    assert end_silent(T0 + 2 * SILENT_NS) == 0


def test_summaries_of_writers_are_merged(run, end):
    writers(run, "a", "b")
    end("a", summary={"a": 1})
    end("b", summary={"b": 2})
    assert runs.summary(run, 0) == {"a": 1, "b": 2}


@pytest.fixture
def copy(run):
    number = processes.begin_copy(run, "said", None, T0)
    found = processes.copy(run, number)

    def bound(own):
        from dataclasses import replace as with_fields

        processes.bind_copy(run, with_fields(found, attempt=0, own=own))
        return f"sync-{number}"

    return bound


@pytest.mark.parametrize(("silent_ns", "code"), [(SILENT_NS - 1, None), (SILENT_NS, 1)])
def test_a_copy_ends_only_what_is_silent(run, end, copy, silent_ns, code):
    writers(run, "")
    end(copy(own=False), code=1, at_ns=T0 + silent_ns)
    assert exit_code(run) == code


def test_a_copy_never_changes_how_a_process_ended(run, end, copy):
    writers(run, "")
    end(code=0)
    end(copy(own=False), code=1, at_ns=T0 + 9 * SILENT_NS)
    assert exit_code(run) == 0


def test_a_copy_of_what_nobody_else_told_ends_it(run, end, copy):
    writers(run, "")
    end(copy(own=True), code=2)
    assert exit_code(run) == 2


def test_an_older_summary_of_a_copy_replaces_nothing(run, end, copy):
    writers(run, "")
    end(summary={"loss": 1, "_timestamp": 20})
    end(copy(own=False), at_ns=T0 + 1, summary={"loss": 9, "x": 1, "_timestamp": 10})
    assert runs.summary(run, 0) == {"loss": 1, "x": 1, "_timestamp": 20}
    end(copy(own=False), at_ns=T0 + 2, summary={"loss": 3, "_timestamp": 30})
    assert runs.summary(run, 0)["loss"] == 3
