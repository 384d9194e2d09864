"""apps.logs.domain.clock.skew on the lines of `bench logs` and of real jobs."""

import json
from collections import defaultdict

import pytest

from apps.core.records import Severity
from apps.logs.domain.clock.skew import host_clocks, pack, unpack
from tests.failure_cases import rank_files, recorded
from tests.log_samples import parse
from workers.benches.logcorpus import folder_of
from workers.benches.logtape import CorpusOptions

MS = 10**6


def clocks(parsed_by_host):
    """host -> its clock, of all parsed files of each host."""
    hosts = {}
    for host, files in parsed_by_host.items():
        first = {}
        for parsed in files:
            for line in parsed.lines:
                if line.step is not None and line.severity < Severity.ERROR:
                    first[line.step] = min(line.time_ns, first.get(line.step, line.time_ns))
        hosts[host] = unpack(pack(first))
    return {clock.node: clock for clock in host_clocks(hosts)}


def test_the_hosts_of_the_corpus_are_off_by_what_it_says(tmp_path):
    corpus = folder_of(tmp_path, CorpusOptions(scale=0.01, ranks=12, gpus_per_host=2))
    off_s = json.loads((corpus / "truth.json").read_text())["skew"]
    parsed = defaultdict(list)
    for path in sorted((corpus / "raw").glob("*/rank_*.log")):
        node = path.parent.name
        parsed[node].append(parse(path.read_bytes(), source=path.name, node=node))
    found = clocks(parsed)
    base = found["gpu-000"].skew_ns / 1e9 - off_s["gpu-000"]
    for node, true_s in off_s.items():
        assert abs(found[node].skew_ns / 1e9 - true_s - base) < 0.02
        assert found[node].steps > 20
    assert {node for node, clock in found.items() if clock.apart} >= {"gpu-003", "gpu-005"}
    assert abs(found["gpu-005"].skew_ns - found["gpu-003"].skew_ns - 3_400 * MS) < 20 * MS


@pytest.mark.parametrize("run", ["badbatch", "exc_r6", "hang_r5"])
def test_the_nodes_of_a_real_job_that_share_a_clock_are_not_apart(run):
    parsed = defaultdict(list)
    for file in rank_files(recorded(run)):
        parsed[file.node].append(file.segment())
    found = clocks(parsed)
    assert found.keys() == {"gpu-a01", "gpu-b02"}
    assert all(clock.steps > 5 and abs(clock.skew_ns) < 50 * MS for clock in found.values())
    assert not any(clock.apart for clock in found.values())
