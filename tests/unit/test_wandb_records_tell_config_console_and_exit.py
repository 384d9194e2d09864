"""W&B records other than history: run, config, summary, system metrics, console, exit."""

import pytest

from apps.ingest.wandb.descriptor import MESSAGES
from apps.ingest.wandb.parse import ConsoleLine, RunFacts, SystemSample, decode
from tests.costs import cost_s
from tests.wandb_records import items, record

NOW = 1_800_000_000_000_000_000
T = MESSAGES["Time"](seconds=1_700_000_000, nanos=5)
T_NS = 1_700_000_000_000_000_005


def read(*records, **options):
    return decode(records, now_ns=NOW, **options)


def output(text, kind=0, time=T):
    return record("output", MESSAGES["Output"](output_type=kind, timestamp=time, line=text))


def updates(kind, remove=(), **texts):
    gone = [MESSAGES["Item"](key=key.encode()) for key in remove]
    return record(kind, MESSAGES["Updates"](update=items(**texts), remove=gone))


def test_the_run_record_gives_names_start_and_config():
    config = MESSAGES["Updates"](update=items(lr="0.1", tags='["a"]')).SerializeToString()
    run = MESSAGES["Run"](
        run_id=b"r1", project=b"p", display_name=b"my run", start_time=T, config=config
    )
    batch = read(record("run", run))

    assert batch.run == RunFacts("r1", "p", "my run", started_ns=T_NS)
    assert batch.config == {"lr": 0.1, "tags": ["a"]}


def test_the_commit_of_the_code_is_part_of_what_the_run_says():
    run = MESSAGES["Run"](run_id=b"r1", git=MESSAGES["Git"](commit=b"4f2a\x00"))

    assert read(record("run", run)).config == {"wandb/commit": "4f2a\ufffd"}


def test_the_environment_adds_host_and_writer():
    environment = MESSAGES["Environment"](host=b"gpu-a01", writer_id=b"w-1")

    assert read(record(26, environment)).run == RunFacts(host="gpu-a01", writer_id="w-1")


def test_records_without_a_run_record_have_no_run_facts():
    assert read(output(b"x\n")).run is None


def test_later_updates_win_and_removals_remove():
    batch = read(
        updates("summary", loss="3", acc="1"),
        updates("summary", loss="2"),
        updates("summary", remove=["acc"]),
    )

    assert batch.summary == {"loss": 2}


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("NaN", "NaN"),
        ('{"a": [Infinity, -Infinity]}', {"a": ["Infinity", "-Infinity"]}),
        ('"a\\u0000b"', "a\ufffdb"),
        ('"\\ud800"', "?"),
        ("1" + "0" * 30, 1e30),
        ("1" + "0" * 400, "Infinity"),
        ("true", True),
        ("{oops", None),
        ("[" * 33 + "]" * 33, eval("[" * 32 + "'<list>'" + "]" * 32)),  # noqa: S307
    ],
)
def test_config_is_strict_json_that_postgres_accepts(text, stored):
    assert read(updates("config", x=text)).config == {"x": stored}


def test_system_metrics_keep_their_own_time():
    texts = {"gpu.0.temp": "39.0", "gpu.0.name": '"H200"'}
    parts = [MESSAGES["Item"](key=k.encode(), value_json=v.encode()) for k, v in texts.items()]
    batch = read(record("stats", MESSAGES["Stats"](timestamp=T, item=parts)), shift_ns=10)

    assert batch.system == (SystemSample(T_NS + 10, {"system/gpu.0.temp": 39.0}),)
    assert batch.rows == ()


def test_pieces_of_output_become_lines_per_stream():
    batch = read(
        output(b"lo"),
        output(b"out 1\r\n", kind=1),
        output(b"ss 5\nnext\npart"),
        output(b"bad \xff\n", kind=1),
    )

    assert batch.console == (
        ConsoleLine(T_NS, "stdout", "out 1"),
        ConsoleLine(T_NS, "stderr", "loss 5"),
        ConsoleLine(T_NS, "stderr", "next"),
        ConsoleLine(T_NS, "stdout", "bad \ufffd"),
        ConsoleLine(T_NS, "stderr", "part"),
    )


def test_a_progress_bar_is_its_last_state():
    assert read(output(b"10%"), output(b"\r50%"), output(b"\r100%\r\n")).console == (
        ConsoleLine(T_NS, "stderr", "100%"),
    )


@pytest.mark.parametrize("code", [0, 1, 255, -9])
def test_the_exit_code(code):
    assert read(record("exit", MESSAGES["Exit"](exit_code=code))).exit_code == code


def test_a_run_without_an_exit_record_has_no_exit_code():
    assert read(output(b"x\n")).exit_code is None


def test_preempting():
    assert read(record(23, b"")).preempting


def test_a_line_in_very_many_pieces_takes_no_longer_than_its_bytes():
    def cost(pieces):
        return cost_s(lambda: read(*[output(b"x" * 100)] * pieces))

    (line,) = read(*[output(b"x" * 100)] * 20_000).console
    assert len(line.text) == 2_000_000
    assert cost(20_000) < 1_000 * cost(200) + 0.01
