"""deploy/agent and requirements/agent.txt: parsed, and their commands run here."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from workers.tailer.settings import PREFIX, SETTINGS

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy/agent"
POD = "train_gpt-worker-0_0a1b2c3d/pytorch/0.log"
MODULES = {
    "protobuf": "google",
    "google-crc32c": "google_crc32c",
    "pyyaml": "yaml",
    "google-re2": "re2",
}
GUARD = """
import sys
class Guard:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top[0] == "_" or top in sys.argv[1].split(","):
            return None
        raise ModuleNotFoundError(f"{name} is none of the agent's packages")
sys.meta_path.insert(0, Guard())
import workers.tailer.__main__, workers.tailer.parcels
"""


def unit():
    """(section, key) -> values of the unit file, in order."""
    found, section = {}, ""
    for line in (DEPLOY / "lastgood-agent.service").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault((section, key), []).append(value)
    return found


def run(words, environment=None):
    """A command of the agent, with this interpreter."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=clean | (environment or {}),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def container():
    """The container of the DaemonSet."""
    (document,) = yaml.safe_load_all((DEPLOY / "daemonset.yaml").read_text())
    (found,) = document["spec"]["template"]["spec"]["containers"]
    return found


def test_the_command_of_the_unit_runs(tmp_path):
    (command,) = unit()["Service", "ExecStart"]
    program, *words = shlex.split(command)
    settings = (DEPLOY / "agent.toml").read_text()
    log = tmp_path / "torchrun/job_1/attempt_0/0/stderr.log"
    log.parent.mkdir(parents=True)
    log.write_text("hello\n")
    (tmp_path / "agent.toml").write_text(settings.replace("/logs/my-run", f"{tmp_path}/torchrun"))
    assert program.endswith("/bin/python")
    assert words[-1] == "/etc/lastgood/agent.toml"

    done = run([*words[:-1], str(tmp_path / "agent.toml"), "--check"], _environment(tmp_path))

    assert done.returncode == 0, done.stderr
    assert f"{log}\n  run my-run, start " in done.stdout
    assert f"{tmp_path}/torchrun/console.log\n  console: is not there yet" in done.stdout


def _environment(folder):
    said = dict(value.split("=", 1) for value in unit()["Service", "Environment"])
    return {
        name: text.replace("%d", f"{folder}").replace("%S", f"{folder}")
        for name, text in said.items()
    }


def test_the_unit_gives_the_agent_little():
    service = {key: values for (section, key), values in unit().items() if section == "Service"}
    assert service["DynamicUser"] == ["yes"]
    assert service["CapabilityBoundingSet"] == ["CAP_DAC_READ_SEARCH"]
    assert service["ProtectSystem"] == ["strict"]
    assert service["NoNewPrivileges"] == ["yes"]
    variables = {value.partition("=")[0] for value in service["Environment"]}
    known = {setting.variable for setting in SETTINGS}
    assert {name for name in variables if name.startswith(PREFIX)} <= known


def test_the_example_uses_known_settings_only():
    given = tomllib.loads((DEPLOY / "agent.toml").read_text())
    assert set(given) <= {setting.name for setting in SETTINGS}


def test_the_daemonset_follows_the_pods_of_its_namespace(container, tmp_path):
    log = tmp_path / POD
    log.parent.mkdir(parents=True)
    log.write_text("2026-11-29T19:46:03.1Z stderr F [rank3]: hello\n")
    other = tmp_path / "kube-system_dns_0a1b/dns/0.log"
    other.parent.mkdir(parents=True)
    other.write_text("2026-11-29T19:46:03.1Z stderr F x\n")
    said = {one["name"]: one.get("value", "n1") for one in container["env"]}
    said = {name: text.replace("/var/log/pods", str(tmp_path)) for name, text in said.items()}

    done = run([*container["command"][1:], "--check"], said)

    assert done.returncode == 0, done.stderr
    assert f"{log}\n  run gpt, start uid=0a1b2c3d,container=pytorch,start=0, node n1" in done.stdout
    assert "looks like: CRI" in done.stdout
    assert "kube-system" not in done.stdout


def test_the_probe_says_whether_the_agent_is_alive(container, tmp_path):
    words = container["livenessProbe"]["exec"]["command"][1:]
    said = {f"{PREFIX}STATE": str(tmp_path)}

    gone = run(words, said)

    assert (gone.returncode, gone.stdout.count("no status")) == (1, 1)


def test_every_mount_of_the_daemonset_has_its_volume():
    (document,) = yaml.safe_load_all((DEPLOY / "daemonset.yaml").read_text())
    pod = document["spec"]["template"]["spec"]
    mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_the_agent_needs_no_more_than_its_list_of_packages():
    locked = _locked("agent.txt")
    assert locked.items() <= _locked("base.txt").items()
    modules = [MODULES.get(name, name.replace("-", "_")) for name in locked]

    done = run(["-c", GUARD, ",".join([*modules, "apps", "workers"])])

    assert done.returncode == 0, done.stderr


def _locked(name):
    text = (ROOT / "requirements" / name).read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))
