"""workers.demo.launcher: it plays a run, takes an order on, and plays the second start."""

import threading

import pytest

from tests.agents import wait_until
from workers.demo import launcher as launcher_module
from workers.demo import recordings
from workers.demo.folder import read_folder
from workers.demo.launcher import Launcher, Stage

FIRST, SECOND = "gpu-a01/lrbump_nn7vp1yp/attempt_0", "gpu-a01/lrbump_i_axnfyv/attempt_0"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return read_folder(recordings.unpack("lrbump", tmp_path_factory.mktemp("runs")))


@pytest.fixture
def said():
    return []


@pytest.fixture
def stage(server, tmp_path, said):
    (tmp_path / "token").write_text("secret")
    return Stage(
        run="r",
        url=server.url,
        token="secret",
        token_file=tmp_path / "token",
        live=tmp_path / "live",
        speed=1000.0,
        say=said.append,
    )


@pytest.fixture
def launch(recorded, stage):
    """Makes and starts a launcher; all are stopped at the end."""
    made = []

    def start():
        made.append(Launcher(recorded, stage))
        made[-1].start()
        return made[-1]

    yield start
    threads = [threading.Thread(target=one.stop) for one in made]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


@pytest.fixture
def no_agents(monkeypatch):
    """Agents that are only remembered."""
    words = []

    class Remembered:
        def __init__(self, given, folder):
            words.append(given)

        def retire(self):
            words.append("retire")

        def stop(self):
            words.append("stop")

        def wait(self, timeout_s):
            """Nothing to wait for."""

    monkeypatch.setattr(launcher_module, "AgentProcess", Remembered)
    return words


def order(server, number, step, state="requested"):
    env = {"CKPT_BRANCH_DIR": f"/data/ckpt.rollback-{number}"}
    server.resume_point = {
        "source": "order", "order": number, "step": step, "state": state, "env": env,
    }  # fmt: skip


def test_the_whole_way_with_real_agents(server, launch):
    launch()
    wait_until(lambda: len(server.records().get("run-lrbump.wandb", [])) == 4060, 60)
    order(server, 7, 900)
    wait_until(lambda: server.launches.get(("wandb", server_name(server))) == 1, 60)

    assert server.acknowledged == [(7, SECOND)]
    assert [b["launch"] for b in server.launch_bodies if b["slot"] == "torchrun:gpu-a01"][:1] == [
        FIRST
    ]


def server_name(server):
    return next((name for slot, name in server.launches if "194113" in name), None)


def test_a_start_is_registered_with_its_resumed_step_before_its_agents_run(
    server, launch, no_agents
):
    order(server, 7, 900)
    launch()
    wait_until(lambda: len(server.launch_bodies) == 2)

    assert [(b["slot"], b["launch"], b["resume_step"]) for b in server.launch_bodies] == [
        ("torchrun:gpu-a01", FIRST, None),
        ("torchrun:gpu-a01", SECOND, 900),
    ]
    wait_until(lambda: len(no_agents) == 3)
    first, retired, second = no_agents
    assert (retired, "--resume-step" in first) == ("retire", False)
    assert second[second.index("--resume-step") + 1] == "900"


def test_another_step_is_said_plainly_and_in_the_acknowledgement(server, launch, no_agents, said):
    order(server, 7, 600)
    launch()
    wait_until(lambda: server.acknowledged)

    ((number, name),) = server.acknowledged
    assert (number, name) == (7, f"{SECOND} (demo: plays the recorded resume from step 900)")
    assert (
        "r: order 7 says step 600, but the recording resumed from step 900: that one is played"
        in said
    )


def test_a_third_start_was_not_recorded(server, launch, no_agents, said):
    order(server, 7, 900)
    launch()
    wait_until(lambda: len(server.launch_bodies) == 2)
    order(server, 8, 750)
    wait_until(lambda: any("order 8" in text for text in said))

    assert said[-1] == "r: order 8 (step 750) is left alone: no further start was recorded"
    assert [number for number, _ in server.acknowledged] == [7]


def test_a_launcher_that_was_killed_goes_on_with_the_newest_start(server, launch, no_agents, said):
    order(server, 7, 900)
    launch()
    wait_until(lambda: len(no_agents) == 3)
    launch()

    assert no_agents[3] == no_agents[2]
    assert len(server.launch_bodies) == 2


def test_an_order_acknowledged_before_a_kill_is_still_followed(server, launch, no_agents):
    order(server, 7, 900, state="acknowledged")
    launch()
    wait_until(lambda: len(server.launch_bodies) == 2)

    assert server.acknowledged == [(7, SECOND)]


def test_no_order_changes_nothing(server, launch, no_agents):
    server.resume_point = {"source": "newest_checkpoint", "order": None, "step": 900, "state": None}
    launch()
    wait_until(lambda: server.answers.count(200) >= 1)

    assert len(server.launch_bodies) == 1
    assert server.acknowledged == []
