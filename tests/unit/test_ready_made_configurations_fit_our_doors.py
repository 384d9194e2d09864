"""docs/ingest.md, Ready-made configurations"""

import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from django.urls import resolve

from apps.accounts.bearer import secret_in
from apps.ingest.labels import DEFAULT, is_run_key

PAGE = (Path(__file__).parents[2] / "docs/ingest.md").read_text(encoding="utf-8")
SITE = "https://lastgood.example"
TOKEN = r"\$\{(?:env:)?LASTGOOD_TOKEN\}"
FILE = "/logs/llm_x/attempt_0/3/stderr.log"


def block(name, kind):
    """The text of the one fenced block below a heading."""
    (found,) = re.findall(rf"(?s)### {name}\n(?:(?!\n###).)*?```{kind}\n(.*?)```", PAGE)
    return found


def config(name):
    return yaml.safe_load(block(name, "yaml"))


def assert_a_door(url):
    """The address is one of our doors, and names a run that may be one if it names any."""
    parts = urlsplit(url)
    assert f"{parts.scheme}://{parts.netloc}" == SITE
    found = resolve(parts.path)
    assert found.func.__module__.startswith("apps.ingest")
    assert is_run_key(found.kwargs.get("key", "r"))


def assert_a_token(header):
    assert re.fullmatch(TOKEN, secret_in(header))


def assert_placed(labels):
    told = DEFAULT.understand(labels)
    assert (told.fields["run"], told.fields["node"], told.odd) == ("llm-7b", "gpu-a01", ())
    assert (told.fields["local_rank"], told.fields["channel"]) == (3, "stderr")


def test_vector():
    sinks = config("Vector")["sinks"]
    ranks, kernel = sinks["ranks_to_lastgood"], sinks["kernel_to_lastgood"]
    assert_a_door(ranks["endpoint"] + ranks["path"])
    assert_a_door(kernel["uri"])
    for sink in (ranks, kernel):
        assert sink["auth"]["strategy"] == "bearer"
        assert re.fullmatch(TOKEN, sink["auth"]["token"])
    filled = {"{{ host }}": "gpu-a01", "{{ file }}": FILE}
    assert_placed({name: filled.get(value, value) for name, value in ranks["labels"].items()})


def test_the_fields_that_vector_makes_of_the_journal_are_known():
    made = config("Vector")["transforms"]["kernel_lines"]["source"]
    fields = dict.fromkeys(re.findall(r'"(\w+)": ', made), "6")
    assert fields
    assert not DEFAULT.understand(fields).rest


def test_fluent_bit():
    (out,) = config("Fluent Bit")["pipeline"]["outputs"]
    assert_a_door(f"https://{out['host']}{out['uri']}")
    (header,) = out["header"]
    assert header.startswith("Authorization ")
    assert_a_token(header.removeprefix("Authorization "))
    assert (out["format"], out["compress"]) == ("json_lines", "gzip")
    assert DEFAULT.understand({out["json_date_key"]: "2026-11-29T19:46:03Z"}).fields["time"]


def test_alloy():
    text = block("Grafana Alloy", "alloy")
    (url,) = re.findall(r'url\s*= "([^"]+)"', text)
    assert_a_door(url)
    assert 'bearer_token = sys.env("LASTGOOD_TOKEN")' in text
    assert text.count("{") == text.count("}")
    labels = dict(re.findall(r'"(\w+)" = ("[^"]*"|[\w.]+)', text))
    assert_placed({"run": labels["run"].strip('"'), "host": "gpu-a01", "filename": FILE})


def test_promtail():
    found = config("Promtail")
    (client,), (scrape,) = found["clients"], found["scrape_configs"]
    assert_a_door(client["url"])
    assert re.fullmatch(TOKEN, client["bearer_token"])
    labels = scrape["static_configs"][0]["labels"] | client["external_labels"]
    labels |= {"host": "gpu-a01", "filename": FILE}
    labels.pop("__path__")
    assert_placed(labels)


def test_the_collector_of_opentelemetry():
    found = config("OpenTelemetry Collector")
    exporter = found["exporters"]["otlphttp"]
    assert_a_door(exporter["endpoint"] + "/v1/logs")
    assert_a_token(exporter["headers"]["Authorization"])
    added = {a["key"]: a["value"] for a in found["processors"]["resource"]["attributes"]}
    assert found["receivers"]["filelog"]["include_file_path"] is True
    assert_placed(added | {"host.name": "gpu-a01", "log.file.path": FILE})
    used = found["service"]["pipelines"]["logs"]
    for part in ("receivers", "processors", "exporters"):
        assert set(used[part]) == set(found[part])


def test_the_script_for_the_journal():
    text = block("journald", "sh")
    (url,) = re.findall(r"https://\S+", text)
    assert_a_door(url)
    assert 'Authorization: Bearer $LASTGOOD_TOKEN"' in text


def test_the_script_is_a_script(tmp_path):
    path = tmp_path / "ship.sh"
    path.write_text(block("journald", "sh"))
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0
