"""workers.listener.scraping, before anything is asked."""

import asyncio
import ssl

from apps.ingest.nodes.sources import Source
from workers.listener import scraping
from workers.listener.fetching import trust
from workers.listener.taking import Taker


def test_authorities_that_cannot_be_read_are_said_with_the_source():
    urls = ["https://gpu-a01:9400/metrics", "https://gpu-a02:9400/metrics"]
    source = Source("exporters", "prometheus", urls, ca_file="/nowhere/ca.crt")
    status = scraping.take(source, asyncio.run(scraping.ask(source)), None, Taker())
    assert (status.targets, status.failing, status.heard_ns) == (2, 2, 0)
    assert "/nowhere/ca.crt" in status.error


def test_the_usual_authorities_are_read_once_for_all_addresses():
    found = trust("", verify=True)
    assert isinstance(found, ssl.SSLContext) and found.verify_mode is ssl.CERT_REQUIRED
    assert trust("", verify=True) is found
