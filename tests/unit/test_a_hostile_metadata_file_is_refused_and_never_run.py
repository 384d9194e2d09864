import os
import pickle

import pytest

from apps.checkpoints.domain.dcp_metadata import parse_metadata
from apps.checkpoints.domain.verify import verify
from apps.core.pickles import PickleRefused
from tests import ckpt_samples


class Shell:
    """Calls a shell when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.fixture
def trap(tmp_path):
    """A file that exists only if a hostile pickle was run."""
    return tmp_path / "executed"


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_shell_command_is_named_and_not_run(trap, protocol):
    hostile = pickle.dumps({"state_dict_metadata": Shell(trap)}, protocol=protocol)
    with pytest.raises(PickleRefused, match=r"the pickle names 'posix\.system'") as caught:
        parse_metadata(hostile)
    assert caught.value.unsafe
    assert not trap.exists()


def test_a_shell_command_behind_a_real_file_is_not_run(trap):
    hostile = ckpt_samples.metadata()[:-1] + pickle.dumps(Shell(trap))[2:]
    with pytest.raises(PickleRefused):
        parse_metadata(hostile)
    assert not trap.exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"(ios\nsystem\n.", id="INST calls what it names"),
        pytest.param(b"cbuiltins\neval\n(S'1'\ntR.", id="eval"),
        pytest.param(b"ctorch.nn\nLinear\n.", id="a class of torch outside the list"),
        pytest.param(b"ctorch\nload\n.", id="a function of torch"),
        pytest.param(b"ctorch.distributed.checkpoint.metadata\nos.system\n.", id="dotted"),
        pytest.param(b"\x80\x04Pid\n.", id="persistent id"),
        pytest.param(b"\x80\x02\x82\x01.", id="extension registry"),
    ],
)
def test_what_reaches_outside_the_file_is_unsafe(content):
    with pytest.raises(PickleRefused) as caught:
        parse_metadata(content)
    assert caught.value.unsafe
    assert "do not load this checkpoint" in caught.value.hint


def test_a_huge_memo_index_costs_no_memory():
    with pytest.raises(PickleRefused, match="no DCP metadata"):
        parse_metadata(b"\x80\x04Nr\xff\xff\xff\xff.")


def test_a_deeply_nested_key_is_refused_instead_of_hashed():
    nested = b"\x80\x04})" + b"\x85" * 1_000_000 + b"Ns."
    with pytest.raises(PickleRefused, match="a dictionary key of an unexpected type"):
        parse_metadata(nested)


def test_the_finding_names_what_the_pickle_would_have_called():
    files = {".metadata": len(b"cposix\nsystem\n."), "__0_0.distcp": 10}
    found = verify(files, b"cposix\nsystem\n.")
    assert [f.code for f in found.findings] == ["METADATA_UNREADABLE"]
    assert "posix.system" in found.findings[0].message
    assert not found.complete
