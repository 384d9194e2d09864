"""One table of settings: flag before environment before file before guess."""

import pytest

from apps.core.errors import AppError
from workers.tailer.__main__ import config_of, main
from workers.tailer.settings import SETTINGS, parser

TOML = """
run = "of-file"
node = "n-file"
url = "http://lastgood:8000"
token_file = "{folder}/token"
state = "/var/lib/lastgood"
torchrun = ["/logs/a", "/logs/b"]
zone = "+02:00"
time_shift_ns = 5

[[logs]]
path = "/logs/{{run}}/rank_{{rank}}.log"
zone = "+01:00"
"""


@pytest.fixture
def given(tmp_path):
    """config(words, environment) with agent.toml."""
    (tmp_path / "token").write_text("secret\n")
    path = tmp_path / "agent.toml"
    path.write_text(TOML.format(folder=tmp_path))

    def config(*words, **environment):
        return config_of(parser().parse_args(["--config", str(path), *words]), environment)

    return config


def test_a_file_says_everything(given):
    config = given()
    assert (config.run, config.node, config.token) == ("of-file", "n-file", "secret")
    assert [str(path) for path in config.torchrun] == ["/logs/a", "/logs/b"]
    assert (config.zone, config.time_shift_ns) == ("+02:00", 5)
    (source,) = config.logs
    assert (source.zone, source.template.text) == ("+01:00", "/logs/{run}/rank_{rank}.log")


def test_the_environment_counts_before_the_file_and_a_flag_before_both(given):
    said = {"LASTGOOD_AGENT_RUN": "of-env", "LASTGOOD_AGENT_TORCHRUN": "/c:/d"}
    assert given(**said).run == "of-env"
    assert [str(path) for path in given(**said).torchrun] == ["/c", "/d"]
    assert given("--run", "of-flag", **said).run == "of-flag"


def test_the_environment_may_name_the_file(tmp_path, given):
    given()
    config = config_of(
        parser().parse_args([]), {"LASTGOOD_AGENT_CONFIG": str(tmp_path / "agent.toml")}
    )
    assert config.run == "of-file"


@pytest.mark.parametrize(
    ("environment", "node"),
    [({"SLURMD_NODENAME": "n1", "NODE_NAME": "n2"}, "n1"), ({"NODE_NAME": "n2"}, "n2")],
)
def test_the_node_is_guessed(tmp_path, environment, node):
    words = ["--check", "--run", "r", "--torchrun", str(tmp_path)]
    assert config_of(parser().parse_args(words), environment).node == node


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            'touchrun = ["/x"]',
            "agent.toml: there is no setting 'touchrun'; did you mean 'torc",
        ),
        ("run = 5", "run: is no text: 5"),
        ('resume_step = "x"', "resume_step: is no number: 'x'"),
        ('once = "perhaps"', "once: is no switch: 'perhaps'"),
        ("torchrun = [1]", r"torchrun: is no paths: \[1\]"),
        ('tasks = "gpu"\nslurm = ["/x"]', "tasks: is no kind of task: 'gpu'; rank or node"),
        ('zone = "Mars"', "zone: is no zone: 'Mars'"),
        ("run = ", "agent.toml: is no TOML"),
        ('[[slurm]]\npath = "/x"\nzon = "Z"', "there is no key 'zon'; known are path, zone, tasks"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, line, error):
    path = tmp_path / "agent.toml"
    path.write_text(f"{line}\n")
    with pytest.raises(AppError, match=error):
        config_of(parser().parse_args(["--config", str(path), "--check", "--run", "r"]), {})


def test_a_wrong_variable_is_named():
    with pytest.raises(AppError, match="LASTGOOD_AGENT_TOKNE: there is no setting 'tokne'"):
        config_of(parser().parse_args(["--check"]), {"LASTGOOD_AGENT_TOKNE": "x"})


def test_every_setting_has_a_flag_and_a_meaning():
    told = parser().format_help()
    assert all(setting.flag in told and setting.what for setting in SETTINGS)


@pytest.mark.parametrize("missing", ["url", "state", "token_file"])
def test_what_is_needed_and_missing_is_named(missing):
    given = {"url": "http://x", "state": "/s", "token_file": "/t", "torchrun": "/l", "run": "r"}
    words = [word for name, text in given.items() if name != missing
             for word in (f"--{name.replace('_', '-')}", text)]  # fmt: skip
    with pytest.raises(AppError, match=f"--{missing.replace('_', '-')}: is missing"):
        config_of(parser().parse_args(words), {})


def test_check_shows_what_would_be_followed(tmp_path, capsys):
    log = tmp_path / "4711_3.out"
    log.write_bytes(b"2026-11-29 20:00:00 [rank3]: hello\n")
    words = ["--check", "--run", "r", "--node", "n1", "--slurm", f"{tmp_path}/%j_%t.out"]

    assert main([*words, "--zone", "+01:00", "--tasks", "rank"]) == 0

    told = capsys.readouterr().out
    assert (
        f"{log}\n  run r, start job=4711, node not known\n  stdout of rank 3; zone +01:00\n" in told
    )
    assert "first stamp 2026-11-29 19:00:00 UTC\n  looks like: labels of ranks\n" in told
    assert told.endswith("1 files, 0 with a problem\n")


def test_check_warns_of_files_that_hold_several_processes(tmp_path, capsys):
    (tmp_path / "4711_1.out").write_bytes(b"[default0]:hello\n")

    assert main(["--check", "--run", "r", "--slurm", f"{tmp_path}/%j_%t.out"]) == 1

    assert "is a task a node? then --tasks node" in capsys.readouterr().out


def test_check_fails_if_nothing_is_found(tmp_path, capsys):
    assert main(["--check", "--run", "r", "--slurm", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "0 files, 0 with a problem\n"
