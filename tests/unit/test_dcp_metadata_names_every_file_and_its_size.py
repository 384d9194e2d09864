import pytest

from apps.checkpoints.domain.dcp_metadata import parse_metadata
from apps.core.pickles import PickleRefused
from tests import ckpt_samples


@pytest.mark.parametrize("name", [ckpt_samples.SHARDED, ckpt_samples.SINGLE])
def test_the_promised_sizes_are_those_of_the_real_shards(name):
    files = ckpt_samples.inventory(name)
    files.pop(".metadata")
    assert parse_metadata(ckpt_samples.metadata(name)).needed_bytes == files


def test_every_tensor_of_a_real_file_is_counted_and_covered():
    found = parse_metadata(ckpt_samples.metadata(ckpt_samples.SINGLE))
    assert (found.tensors, found.byte_items, found.chunks) == (404, 13, 404)
    assert found.uncovered == ()
    assert found.version == "1.0.0"


def test_a_file_above_the_limit_is_refused_before_it_is_read():
    with pytest.raises(PickleRefused, match="46538 bytes are more than the limit of 1000"):
        parse_metadata(ckpt_samples.metadata(), max_bytes=1000)


@pytest.mark.parametrize("cut", [0, 1, 5_000, 46_537])
def test_a_cut_file_says_that_it_ends_too_early(cut):
    with pytest.raises(PickleRefused, match="it ends too early") as caught:
        parse_metadata(ckpt_samples.metadata()[:cut])
    assert not caught.value.unsafe


def test_a_tensor_larger_than_its_chunks_is_reported_by_name():
    # The first 256 x 256 (M = two-byte number) is the size of model.tok.weight.
    content = ckpt_samples.metadata().replace(b"M\x00\x01M\x00\x01", b"M\x00\x02M\x00\x01", 1)
    assert parse_metadata(content).uncovered == ("model.tok.weight",)
