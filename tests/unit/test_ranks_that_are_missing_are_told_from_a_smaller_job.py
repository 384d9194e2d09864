import pytest

from apps.checkpoints.domain.ranks import gaps


def _zero(ranks):
    return [f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in ranks]


def _messages(names, *around):
    return [f.message for f in gaps(names, around)]


def test_a_hole_in_the_grid_is_named():
    grid = [f"mp_rank_{tp:02d}_{pp:03d}/x.pt" for tp in range(2) for pp in range(3)]
    grid.remove("mp_rank_01_001/x.pt")
    assert _messages(grid) == ["1 file of ranks missing: mp_rank_01_001/x.pt"]


def test_the_last_rank_is_missed_against_the_step_before():
    assert _messages(_zero(range(3)), _zero(range(4))) == [
        "1 file of ranks missing: zero_pp_rank_3_mp_rank_00_optim_states.pt"
    ]


@pytest.mark.parametrize(
    ("own", "around"),
    [
        pytest.param(range(6), [range(8), range(6)], id="the next step has the same ranks"),
        pytest.param(range(4), [range(8)], id="half of the ranks"),
        pytest.param(range(8), [range(4)], id="more ranks than before"),
        pytest.param(range(12), [], id="two digits and one are one row"),
    ],
)
def test_a_job_of_another_size_has_no_gap(own, around):
    assert _messages(_zero(own), *map(_zero, around)) == []


def test_files_that_no_rank_has_are_missed_where_all_neighbours_have_them():
    model = ["mp_rank_00_model_states.pt"]
    own, full = _zero(range(2)), [*model, *_zero(range(2))]
    assert _messages(own, full, full) == ["1 file of ranks missing: mp_rank_00_model_states.pt"]
    assert _messages(own, full, own) == []


def test_random_states_alone_are_a_warning():
    (found,) = gaps(["rng_state_0.pth", "rng_state_2.pth"])
    assert (found.fatal, found.message) == (
        False,
        "1 file of ranks missing: rng_state_1.pth; it resumes, but not bit for bit",
    )


def test_numbers_that_lie_cost_nothing():
    (found,) = gaps(["train/rank0.pt", "train/rank999999999.pt"])
    assert found.message.startswith("999999998 files of ranks missing: train/rank1.pt")


def test_numbers_that_are_no_ranks_are_left_alone():
    assert gaps(["lora_rank16.pt", "__0_0.distcp", "__7_0.distcp", "model_rank.bin"]) == []
