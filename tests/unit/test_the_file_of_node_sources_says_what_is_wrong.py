"""ingest.nodes.sources"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import AppError
from apps.ingest.nodes.sources import MAX_TARGETS, Target, read, targets

GOOD = """
sources:
  - {name: exporters, kind: prometheus, urls: ["http://gpu-a[08-10]:9400/metrics"], every_s: 15}
  - {name: fed, kind: prometheus, urls: ["http://prometheus:9090/federate"]}
  - {name: by name, kind: gpud, urls: {gpu-b01: "https://10.0.0.7:15132"}, verify: false}
  - {name: here, kind: kubernetes, namespaces: [llm]}
"""


def one(text):
    return f"sources: [{text}]"


def test_numbers_stand_for_hosts_and_hosts_for_nodes():
    found = [list(targets(source)) for source in read(GOOD)[:3]]
    assert found == [
        [Target(f"http://gpu-a{n}:9400/metrics", f"gpu-a{n}") for n in ("08", "09", "10")],
        [Target("http://prometheus:9090/federate", "")],
        [Target("https://10.0.0.7:15132", "gpu-b01")],
    ]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("sources: [", "NODE_SOURCES"),
        ("", "NODE_SOURCES"),
        ("sources: {}", "sources"),
        (one("{name: a, kind: nagios}"), "sources[0].kind"),
        (one("{name: a, kind: gpud, urls: [], evry_s: 5}"), "sources[0]"),
        (one("{name: a, kind: gpud, urls: ['http://a'], every_s: 1}"), "sources[0].every_s"),
        (one("{name: a, kind: prometheus}"), "sources[0].urls"),
        (one("{name: a, kind: prometheus, urls: ['ftp://a']}"), "sources[0].urls"),
        (one("{name: a, kind: prometheus, urls: ['http://u:p@a']}"), "sources[0].urls"),
        (one("{name: a, kind: prometheus, urls: ['http://a[0-99999]/']}"), "sources[0].urls"),
        (one("{name: a, kind: prometheus, urls: ['http://a[:08-10]/']}"), "sources[0].urls"),
        (one("{name: a, kind: gpud, urls: ['http://[:08-10]/']}"), "sources[0].urls"),
        (one("{name: a, kind: kubernetes, url: 'k8s:6443'}"), "sources[0].url"),
        (one("{name: a, kind: kubernetes, urls: ['http://a']}"), "sources[0].urls"),
        (one("{name: a, kind: gpud, urls: ['http://a'], namespaces: [x]}"), "sources[0]"),
        (one("{name: a, kind: kubernetes}, {name: a, kind: kubernetes}"), "sources[1]"),
    ],
)
def test_the_entry_at_fault_is_named(text, where):
    with pytest.raises(AppError) as refused:
        read(text)
    assert refused.value.where == where


def test_a_range_makes_no_more_addresses_than_there_may_be():
    (source,) = read(one(f"{{name: a, kind: gpud, urls: ['http://a[1-{MAX_TARGETS}]']}}"))
    assert sum(1 for _ in targets(source)) == MAX_TARGETS


@given(st.text(max_size=60), st.integers(0, len(GOOD)))
def test_any_file_is_read_or_refused(text, at):
    try:
        read(GOOD[:at] + text + GOOD[at:])
    except AppError as refused:
        assert refused.message
