"""workers.listener, before anything is asked."""

import asyncio
import ssl

import pytest

from apps.core.errors import AppError
from apps.ingest.nodes.sources import Source
from workers.listener import scraping
from workers.listener.cluster import cluster_of
from workers.listener.fetching import trust
from workers.listener.taking import Taker


def test_authorities_that_cannot_be_read_are_said_with_the_source():
    urls = ["https://gpu-a01:9400/metrics", "https://gpu-a02:9400/metrics"]
    source = Source("exporters", "prometheus", urls, ca_file="/nowhere/ca.crt")
    turn = scraping.Turn(source, Taker())

    async def take(answer):
        turn.take(answer)

    asyncio.run(scraping.ask(source, scraping.Lanes(), take))
    status = turn.status()
    assert (status.targets, status.failing, status.heard_ns) == (2, 2, 0)
    assert "/nowhere/ca.crt" in status.error


def test_the_usual_authorities_are_read_once_for_all_addresses():
    found = trust("", verify=True)
    assert isinstance(found, ssl.SSLContext) and found.verify_mode is ssl.CERT_REQUIRED
    assert trust("", verify=True) is found


@pytest.mark.parametrize("user", ["null", "{}", "{exec: {command: aws}}"])
def test_a_kubeconfig_that_logs_in_otherwise_is_refused_with_the_source(tmp_path, user):
    file = tmp_path / "kubeconfig"
    file.write_text(f"""
current-context: here
contexts: [{{name: here, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "https://k8s:6443"}}}}]
users: [{{name: u, user: {user}}}]
""")
    with pytest.raises(AppError, match="logs in by a program") as refused:
        cluster_of(Source("training", "kubernetes", kubeconfig=str(file)))
    assert refused.value.where == "training"
