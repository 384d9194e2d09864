"""nodes.domain.preparing: commands to copy, safely quoted."""

import shlex

import yaml
from hypothesis import given
from hypothesis import strategies as st

from apps.nodes.domain.preparing import MAX_REASON, prepare


def test_the_commands_of_slurm():
    made = prepare(["gpu-a01", "gpu-b07.cluster.local"], "Xid 79, it's dead")
    reason = "'Reason=lastgood: Xid 79, it'\"'\"'s dead'"
    assert made.drain == f"scontrol update NodeName=gpu-a01,gpu-b07 State=DRAIN {reason}"
    assert made.exclude == "--exclude=gpu-a01,gpu-b07"
    assert made.resume == "scontrol update NodeName=gpu-a01,gpu-b07 State=RESUME"


def test_the_commands_of_kubernetes():
    made = prepare(["gpu-a01", "gpu-b07.cluster.local"], "x")
    assert made.cordon == "kubectl cordon gpu-a01 gpu-b07.cluster.local"
    assert made.uncordon == "kubectl uncordon gpu-a01 gpu-b07.cluster.local"


def test_the_snippet_keeps_pods_off_by_either_name():
    read = yaml.safe_load(prepare(["gpu-b07.cluster.local"], "x").affinity)
    terms = read["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (expression,) = terms["nodeSelectorTerms"][0]["matchExpressions"]
    assert expression == {
        "key": "kubernetes.io/hostname",
        "operator": "NotIn",
        "values": ["gpu-b07.cluster.local", "gpu-b07"],
    }


def test_an_address_stays_whole():
    assert prepare(["10.0.0.7"], "x").exclude == "--exclude=10.0.0.7"


def test_a_name_that_slurm_would_read_as_a_list_is_left_out_and_named():
    made = prepare(["gpu-[01-99]", "--all", "a,b", "gpu-a01"], "x")
    assert made.exclude == "--exclude=gpu-a01"
    assert made.left_out == ("gpu-[01-99]", "--all", "a,b")


def test_nothing_is_prepared_for_nobody():
    made = prepare([], "x")
    assert (made.drain, made.cordon, made.affinity, made.left_out) == ("", "", "", ())


@given(st.lists(st.text(max_size=40), max_size=5), st.text(max_size=400))
def test_whatever_the_names_and_the_reason_a_shell_sees_these_words_only(names, reason):
    made = prepare([*names, "gpu-a01"], reason)
    drain = shlex.split(made.drain)
    assert drain[:2] == ["scontrol", "update"]
    assert drain[3] == "State=DRAIN"
    assert drain[4].startswith("Reason=lastgood: ")
    assert len(drain) == 5
    assert len(drain[4]) <= MAX_REASON + 20
    assert "\n" not in made.drain + made.cordon
    assert all(not word.startswith("-") for word in shlex.split(made.cordon)[2:])
    assert shlex.split(made.cordon)[-1] == "gpu-a01"
    yaml.safe_load(made.affinity)
