"""Outgoing requests: where they may go, how long they may take, what an answer means."""

import ipaddress
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.alerts.domain.outgoing import LONGEST_WAIT_S, Call, Reach, Verdict, judge, reach, without
from apps.alerts.transports.http import HttpPolicy, post
from tests.channel_samples import HERE
from tests.receiver import receiving

NOW_S = 1_750_000_000.0


@pytest.fixture
def server():
    with receiving() as receiver:
        yield receiver


def call(url, *secrets):
    return Call(url, {"Content-Type": "application/json"}, b"{}", secrets)


@pytest.mark.parametrize(
    ("address", "nearest"),
    [
        ("93.184.216.34", Reach.PUBLIC),
        ("2606:4700::1111", Reach.PUBLIC),
        ("10.1.2.3", Reach.PRIVATE),
        ("100.64.0.9", Reach.PRIVATE),
        ("192.168.1.1", Reach.PRIVATE),
        ("fd12::1", Reach.PRIVATE),
        ("127.0.0.1", Reach.LOOPBACK),
        ("127.9.9.9", Reach.LOOPBACK),
        ("::1", Reach.LOOPBACK),
        ("169.254.169.254", Reach.NEVER),
        ("169.254.1.1", Reach.NEVER),
        ("fe80::1", Reach.NEVER),
        ("fd00:ec2::254", Reach.NEVER),
        ("100.100.100.200", Reach.NEVER),
        ("168.63.129.16", Reach.NEVER),
        ("0.0.0.0", Reach.NEVER),  # noqa: S104
        ("::", Reach.NEVER),
        ("224.0.0.1", Reach.NEVER),
        ("255.255.255.255", Reach.NEVER),
        ("::ffff:169.254.169.254", Reach.NEVER),
        ("::ffff:127.0.0.1", Reach.LOOPBACK),
        ("64:ff9b::a9fe:a9fe", Reach.NEVER),
        ("2002:7f00:1::", Reach.LOOPBACK),
    ],
)
def test_an_address_is_known_for_what_it_is_however_it_is_wrapped(address, nearest):
    assert reach(ipaddress.ip_address(address)) is nearest


@given(st.ip_addresses())
def test_every_address_has_a_reach(address):
    assert reach(address) in Reach


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_in_ipv6_opens_no_way(address):
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    assert reach(mapped) is reach(address)


@pytest.mark.parametrize("nearest", [Reach.PUBLIC, Reach.PRIVATE])
def test_nothing_is_sent_to_an_address_that_is_too_near(server, nearest):
    answer = post(call(server.url()), HttpPolicy(nearest=nearest))
    assert answer.verdict is Verdict.NEVER
    assert answer.text == "127.0.0.1 is a loopback address; see ALERT_TARGETS"
    assert server.received == []


def test_a_name_is_judged_by_all_its_addresses(server, monkeypatch):
    """A name that stands for a public and a metadata address is a trick."""
    found = [(2, 1, 6, "", ("93.184.216.34", 80)), (2, 1, 6, "", ("169.254.169.254", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: found)
    answer = post(call("http://innocent.example/x"), HERE)
    assert answer.text == "169.254.169.254 is a link-local or metadata address; see ALERT_TARGETS"


def test_the_connection_goes_to_the_address_that_was_judged(server, monkeypatch):
    """A second look-up could give another address: there is none."""
    asked = []

    def once(host, *rest, **options):
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", server.port))]

    monkeypatch.setattr(socket, "getaddrinfo", once)
    answer = post(call(f"http://chat.example:{server.port}/hooks"), HERE)
    assert answer.verdict is Verdict.TAKEN
    assert [host for host in asked if host != "127.0.0.1"] == ["chat.example"]
    assert server.received[0].headers["Host"] == f"chat.example:{server.port}"


def test_a_redirect_is_not_followed(server):
    server.answer(302, Location=server.url("/elsewhere"))
    answer = post(call(server.url()), HERE)
    assert (answer.verdict, answer.status) == (Verdict.NEVER, 302)
    assert "redirects are not followed" in answer.text
    assert len(server.received) == 1


def test_proxies_of_the_environment_are_not_used(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert post(call(server.url()), HERE).verdict is Verdict.TAKEN


def test_a_proxy_that_was_set_gets_the_request(server):
    policy = HttpPolicy(proxy=server.url(""))
    assert post(call("http://chat.example/hooks"), policy).verdict is Verdict.TAKEN
    assert server.received[0].path == "http://chat.example/hooks"
    assert server.received[0].headers["Host"] == "chat.example"


@pytest.mark.parametrize("host", ["169.254.169.254", "[::1]", "localhost"])
def test_no_proxy_is_asked_for_an_address_that_is_too_near(server, host):
    answer = post(call(f"http://{host}/x"), HttpPolicy(proxy=server.url("")))
    assert answer.verdict is Verdict.NEVER
    assert server.received == []


def test_a_server_that_never_answers_is_left_after_a_while(server):
    server.stall_s = 60
    answer = post(call(server.url()), HttpPolicy(nearest=Reach.LOOPBACK, total_s=0.2))
    assert answer == (type(answer))(Verdict.LATER, 0, "no answer within 0.2 s")


def test_a_server_that_drips_its_answer_is_left_too():
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip():
        connection, _ = listener.accept()
        with connection:
            while not stop.wait(0.02):
                connection.send(b"H")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    answer = post(call(url), HttpPolicy(nearest=Reach.LOOPBACK, total_s=0.3))
    stop.set()
    thread.join(5)
    listener.close()
    assert answer.verdict is Verdict.LATER


def test_of_a_huge_answer_little_is_read(server):
    server.answer(400, b"x" * 5_000_000)
    answer = post(call(server.url()), HERE)
    assert answer.verdict is Verdict.NEVER
    assert len(answer.text) < 400


def test_nobody_listening_is_a_reason_to_come_again():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answer = post(call(f"http://127.0.0.1:{port}/"), HERE)
    assert (answer.verdict, answer.status) == (Verdict.LATER, 0)


def test_an_answer_that_repeats_the_secret_does_not_get_it_into_an_error(server):
    server.answer(403, f"bad token tk_123 for {server.url()}".encode())
    answer = post(call(server.url(), "tk_123"), HERE)
    assert answer.text == "HTTP 403: bad token … for …"


@pytest.mark.parametrize("status", [200, 202, 204])
def test_two_hundreds_are_taken(status):
    assert judge(status, None, "", NOW_S).verdict is Verdict.TAKEN


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status):
    assert judge(status, None, "", NOW_S).verdict is Verdict.LATER


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 410, 413, 422])
def test_what_will_not_pass_is_not_tried_again(status):
    answer = judge(status, "5", "no such\n hook", NOW_S)
    assert (answer.verdict, answer.wait_s) == (Verdict.NEVER, None)
    assert answer.text.startswith(f"HTTP {status}")


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("120", 120.0),
        ("999999", LONGEST_WAIT_S),
        ("Sun, 15 Jun 2025 15:07:40 GMT", 60.0),
        ("Sun, 15 Jun 2025 15:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(header, wait_s):
    assert judge(429, header, "", NOW_S).wait_s == wait_s


@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
def test_no_secret_survives(text, secrets):
    clean = without(text + "".join(secrets), tuple(secrets))
    assert all(secret not in clean for secret in secrets if "…" not in secret)
