"""logs.domain.reading.texts"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.logs.domain.reading.columns import LineColumns
from apps.logs.domain.reading.texts import holding
from tests.log_chunks import table_of

TEXTS = [b"heckpoint", b"saving model to '"]
LINES = st.lists(
    st.sampled_from(
        [
            "step 12",
            "saved checkpoint 300",
            "Checkpoint",
            "saving model to 'a'",
            "heck",
            "point",
            "",
        ]
    ),
    min_size=1,
)


def those_that_hold(lines):
    return [at for at, line in enumerate(lines) if any(text.decode() in line for text in TEXTS)]


@given(LINES)
def test_of_columns_and_tables_alike(lines):
    table = table_of(lines)
    assert holding(table, TEXTS) == holding(LineColumns.of(table), TEXTS) == those_that_hold(lines)


@pytest.mark.parametrize("mine", [0, 1])
def test_where_files_share_their_shapes_only_own_lines_are_named(mine):
    columns = LineColumns.of(table_of(["saved checkpoint 1", "step 1"]))
    part = columns.piece(mine, mine + 1)
    assert len(part.shapes) == 2
    assert holding(part, TEXTS) == ([0] if mine == 0 else [])
    assert np.all(part.shape < len(part.shapes))
