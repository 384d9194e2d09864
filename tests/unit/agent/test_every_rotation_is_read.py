"""Numbered and dated rotations, retargeted links, files that are deleted and made anew."""

import os
from dataclasses import replace

import pytest

from tests.agents import Running, append, config, lines, send_once, wait_until
from workers.tailer import templates
from workers.tailer.pathsources import PathSource

POD = "train_gpt-worker-0_0a1b2c3d/pytorch"


@pytest.fixture
def pods(server, tmp_path):
    """Settings that follow the pods below tmp_path, and the log of one."""
    log = tmp_path / "pods" / POD / "0.log"
    log.parent.mkdir(parents=True)
    source = PathSource("pods", templates.parse(f"{tmp_path}/pods/{templates.PODS}"))
    return config(server, tmp_path, torchrun=(), run="", logs=(source,)), log


def generations(server):
    return [server.files()[key] for key in sorted(server.files(), key=lambda key: key[2])]


def test_a_log_that_the_kubelet_rotates_is_read_to_its_end(server, pods):
    settings, log = pods
    append(log, lines(0, 5))
    with Running(settings):
        wait_until(lambda: generations(server) == [lines(0, 5)])
        append(log, lines(5, 8))
        log.rename(log.with_name("0.log.20261129-194603"))
        append(log, lines(8, 10))
        wait_until(lambda: generations(server) == [lines(0, 8), lines(8, 10)])
    assert server.launch_runs == ["gpt"]


def test_rotations_while_the_agent_was_away_are_read_in_their_order(server, pods):
    settings, log = pods
    append(log, lines(0, 5))
    send_once(settings)
    append(log, lines(5, 8))
    log.rename(log.with_name("0.log.3"))
    for number, (first, last) in ((2, (8, 10)), (1, (10, 15)), (None, (15, 16))):
        path = log if number is None else log.with_name(f"0.log.{number}")
        append(path, lines(first, last))
        os.utime(path, (2_000_000_000 - 10 * (number or 0),) * 2)
    append(log.with_name("0.log.4.gz"), b"not text")

    os.utime(log.with_name("0.log.3"), (2_000_000_000 - 30,) * 2)
    send_once(settings)

    assert generations(server) == [lines(0, 8), lines(8, 10), lines(10, 15), lines(15, 16)]


def test_a_link_that_leads_elsewhere_is_followed(server, tmp_path):
    target, link = tmp_path / "pod" / "0.log", tmp_path / "containers" / "gpt_train_x-0a.log"
    target.parent.mkdir()
    link.parent.mkdir()
    append(target, lines(0, 5))
    link.symlink_to(target)
    source = PathSource("pods", templates.parse(f"{link.parent}/{templates.CONTAINERS}"))
    with Running(config(server, tmp_path, torchrun=(), logs=(source,))):
        wait_until(lambda: generations(server) == [lines(0, 5)])
        append(target, lines(5, 6))
        append(target.with_name("1.log"), lines(6, 9))
        link.with_suffix(".new").symlink_to(target.with_name("1.log"))
        link.with_suffix(".new").replace(link)
        wait_until(lambda: generations(server) == [lines(0, 6), lines(6, 9)])


def test_a_file_that_is_deleted_and_made_anew_is_a_new_generation(server, pods):
    settings, log = pods
    append(log, lines(0, 5))
    with Running(replace(settings, run="r")):
        wait_until(lambda: generations(server) == [lines(0, 5)])
        append(log, lines(5, 7))
        log.unlink()
        append(log, lines(7, 9))
        wait_until(lambda: generations(server) == [lines(0, 7), lines(7, 9)])
