"""From the door through the stream and the writer to the watch: when a run was heard of."""

import pytest

from apps.incidents import store
from apps.incidents.store import IncidentQuery
from apps.ingest import stream, watch
from apps.ingest.envelope import unpack
from apps.runs import contact_store
from apps.runs import store as runs
from tests import factories
from workers.writer.loop import Writer

MINUTE = 60_000_000_000


@pytest.fixture
def send(client, token, valkey):
    """Posts a body and lets the writer write it; when the door received it."""
    writer = Writer("w")
    stream.make_group()

    def through(body, door="metrics"):
        client.post(
            f"/api/v1/runs/r/{door}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        ((_, fields),) = valkey.xrange(stream.STREAM)
        writer.step()
        return unpack(fields[b"e"]).received_ns

    return through


@pytest.fixture
def heard_ns(db):
    """To the microsecond."""

    def of(key):
        return runs.get_run(key).contact_ns

    return of


def test_a_run_was_heard_of_when_its_body_came_to_the_door(send, heard_ns):
    received_ns = send(factories.metric_body({1: 2.5}))
    assert heard_ns("r") == pytest.approx(received_ns, abs=1_000)


def test_a_body_that_cannot_be_read_is_contact_too(send, heard_ns):
    send(factories.metric_body({1: 2.5}))
    received_ns = send(b"{}")
    assert heard_ns("r") == pytest.approx(received_ns, abs=1_000)


def test_a_body_that_is_sent_again_is_contact_too(send, heard_ns):
    send(factories.metric_body({1: 2.5}))
    received_ns = send(factories.metric_body({1: 2.5}))
    assert heard_ns("r") == pytest.approx(received_ns, abs=1_000)
    assert runs.get_run("r").last_step == 1


def test_the_silence_after_the_last_body_is_told_and_the_next_body_ends_it(send):
    heard = send(factories.metric_body({1: 2.5}, t0_ns=factories.T0_NS * 2))
    contact_store.save_look(heard + 50 * MINUTE, contact_store.WatchClock(heard))
    assert watch.look(heard + 50 * MINUTE + MINUTE // 4) == 1
    run_id = runs.get_run("r").id
    (incident,) = store.list_incidents(IncidentQuery(run_id=run_id))
    assert (incident.kind, incident.state.value) == ("no_contact", "open")
    heard = send(factories.metric_body({2: 2.5}, t0_ns=factories.T0_NS * 2))
    assert watch.look(heard + MINUTE // 4) == 1
    assert store.get(incident.id).state.value == "resolved"
