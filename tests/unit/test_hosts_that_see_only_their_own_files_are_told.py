import pytest

from apps.checkpoints.domain.sharing import non_shared

FIRST = {".metadata": 9, "__0_0.distcp": 5, "trainer_state.json": 3}


def test_each_host_has_files_that_the_others_lack():
    found = non_shared([FIRST, {"__1_0.distcp": 5, "trainer_state.json": 3}, {"__2_0.distcp": 5}])
    assert (found.code, found.fatal) == ("NON_SHARED_STORAGE", True)
    assert found.message == (
        "3 lists of its files differ: .metadata, __0_0.distcp, trainer_state.json only in the "
        "first, __1_0.distcp, __2_0.distcp only in another; the folder is not shared, and a start "
        "sees what its own host has"
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(FIRST, id="the same"),
        pytest.param(FIRST | {"__1_0.distcp": 5}, id="one more file"),
        pytest.param({".metadata": 9, "__0_0.distcp": 5}, id="one file less"),
        pytest.param({".metadata": 8, "__1_0.distcp": 5}, id="saved again with other contents"),
    ],
)
def test_lists_that_complete_or_contradict_each_other_are_something_else(other):
    assert non_shared([FIRST, other]) is None


def test_one_list_says_nothing():
    assert non_shared([FIRST]) is None
