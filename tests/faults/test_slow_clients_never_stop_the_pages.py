"""Launchers that wait and senders that stall hold threads of web, but never all of them."""

import base64
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest

from tests import factories
from tests.stack import until

MANY = 30
LOGIN = "/login/"


@pytest.fixture
def auth(stack):
    return {"Authorization": f"Bearer {stack.token}"}


@pytest.fixture
def run(stack, auth):
    url = f"{stack.url}/api/v1/runs/slow"
    httpx.post(f"{url}/metrics", content=factories.metric_body({1: 2.0}), headers=auth)
    until(lambda: stack.drained("slow"), "the first row")
    return url


def page_answers(stack):
    return httpx.get(f"{stack.url}{LOGIN}", timeout=5).status_code == 200


def test_waiting_launchers(stack, auth, run):
    tag = httpx.get(f"{run}/resume-point", headers=auth).headers["ETag"]
    headers = {**auth, "If-None-Match": tag}

    def wait(_):
        return httpx.get(f"{run}/resume-point?wait=3", headers=headers, timeout=60)

    with ThreadPoolExecutor(MANY) as launchers:
        answers = launchers.map(wait, range(MANY))
        assert page_answers(stack)
        kinds = [(answer.status_code, answer.headers.get("Retry-After")) for answer in answers]
    assert kinds.count((304, "5")) >= MANY - 4
    assert kinds.count((304, None)) >= 1


@pytest.fixture
def stall(stack):
    """Opens connections that send a head, a promise of a body, one byte, and then nothing."""
    with ExitStack() as opened:

        def start(path, **headers):
            lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 1000"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            head = "\r\n".join([*lines, "", "x"]).encode()
            links = [socket.create_connection(("127.0.0.1", stack.port)) for _ in range(MANY)]
            assert [opened.enter_context(link).sendall(head) for link in links] == [None] * MANY

        yield start


def test_senders_that_stall(stack, auth, run, stall):
    stall("/api/v1/runs/slow/metrics", **auth)
    assert page_answers(stack)
    answer = httpx.post(f"{run}/metrics", content=b"{}", headers=auth, timeout=5)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


def test_wandb_clients_that_stall(stack, auth, run, stall):
    basic = base64.b64encode(f"api:{stack.token}".encode()).decode()
    stall("/files/lastgood/p/slow/file_stream", Authorization=f"Basic {basic}")
    stall("/graphql", Authorization=f"Basic {basic}")
    assert page_answers(stack)
    body = factories.metric_body({2: 2.0})
    assert httpx.post(f"{run}/metrics", content=body, headers=auth, timeout=5).status_code == 202


def test_strangers_that_stall(stack, auth, run, stall):
    cookie = httpx.get(f"{stack.url}{LOGIN}").cookies["lastgood_csrf"]
    form = {"Cookie": f"lastgood_csrf={cookie}"}
    form["Content-Type"] = "application/x-www-form-urlencoded"
    stall(LOGIN, **form)
    stall("/api/v1/runs/slow/rollback", **form)
    stall("/sdk/otel/v1/logs")
    assert page_answers(stack)
    answer = httpx.post(f"{run}/rollback", content=b"{}", headers=auth, timeout=5)
    assert answer.status_code == 422
