"""What can be wrong before the first request is said in one line."""

import sys

import pytest

from workers.puller.__main__ import main

WORDS = ["p", "--url", "http://127.0.0.1:1"]


@pytest.fixture
def words(tmp_path):
    (tmp_path / "token").write_text("t")
    return [*WORDS, "--token-file", str(tmp_path / "token"), "--state", str(tmp_path / "state")]


def test_without_a_key_of_the_source_it_says_which_variable_to_set(words, monkeypatch, capsys):
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    assert main(words) == 1
    assert "WANDB_API_KEY" in capsys.readouterr().err


def test_a_token_that_cannot_be_read_is_named(words, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "k")
    words[words.index("--token-file") + 1] = "/does/not/exist"
    assert main(words) == 1
    assert "/does/not/exist" in capsys.readouterr().err


def test_without_the_package_it_says_how_to_get_it(words, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_API_KEY", "k")
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert main(words) == 1
    assert "pip install 'lastgood[wandb]'" in capsys.readouterr().err
