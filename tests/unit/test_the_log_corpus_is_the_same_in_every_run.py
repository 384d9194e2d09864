"""workers.benches.logcorpus and logsend"""

import hashlib
import json

import orjson
import pytest
import zstandard

from apps.ingest.inflate import InflateLimits, inflate
from apps.ingest.logs.parse import parse
from workers.benches import logsend
from workers.benches.logcorpus import folder_of
from workers.benches.logtape import CorpusOptions

LINES = "fbbc1609ec72dcf96da6861237bf6658e38627567ead6ef5920c76ad88ef5982"
FILES = "abb8c0e61e4b7b754529b5d4a6fad938307297b323a715ba2b1ed0527b990adf"
LIMITS = InflateLimits(64 << 20, 200)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("home"), CorpusOptions(scale=0.01, ranks=48))


def truth(corpus):
    return json.loads((corpus / "truth.json").read_text())


def test_lines_and_files_have_the_bytes_they_always_had(corpus):
    files = b"".join(path.read_bytes() for path in sorted((corpus / "raw").rglob("*.log")))
    whole = (corpus / "corpus.ndjson").read_bytes()
    assert hashlib.sha256(whole).hexdigest() == LINES
    assert hashlib.sha256(files).hexdigest() == FILES
    assert whole.count(b"\n") == files.count(b"\n") == truth(corpus)["lines"]


def test_the_right_answers_can_be_counted_in_the_lines(corpus):
    lines = [orjson.loads(line) for line in (corpus / "corpus.ndjson").read_bytes().splitlines()]
    said = truth(corpus)
    assert sum(said["needle"] in line["msg"] for line in lines) == said["needle_lines"]
    errors = [
        line
        for line in lines
        if line["level"] == "ERROR" and said["q3_window"][0] <= line["ts"] < said["q3_window"][1]
    ]
    assert len(errors) == said["q3_error_all"]
    assert sum(line["rank"] == said["root_rank"] for line in errors) == said["q3_error_rank"]


def test_a_corpus_is_made_once(corpus):
    before = (corpus / "truth.json").stat().st_mtime_ns
    again = folder_of(corpus.parents[1], CorpusOptions(scale=0.01, ranks=48))
    assert (again / "truth.json").stat().st_mtime_ns == before


def test_segments_of_all_bodies_are_the_files(corpus):
    wire = logsend.segments_of(corpus, gpus_per_host=8)
    files = {}
    for body in (body for bodies in wire.by_host for body in bodies):
        for segment, data in parse(inflate(body, "zstd", LIMITS)).segments:
            assert segment.offset == len(files.setdefault(segment.source, b""))
            files[segment.source] += data
    raw = corpus / "raw"
    assert files == {str(p.relative_to(raw)): p.read_bytes() for p in raw.rglob("*.log")}


def test_entries_of_all_bodies_are_the_lines(corpus):
    wire = logsend.entries_of(corpus)
    bodies = [zstandard.decompress(body) for bodies in wire.by_host for body in bodies]
    whole = (corpus / "corpus.ndjson").read_bytes()
    assert sorted(b"".join(bodies).splitlines()) == sorted(whole.splitlines())
    assert len(wire.by_host) == 6
    assert wire.lines == whole.count(b"\n")
