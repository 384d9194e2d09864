"""TensorBoard event files: two that real writers wrote, and small ones of our own making."""

import struct
from pathlib import Path

from apps.ingest.tensorboard.descriptor import MESSAGES
from apps.ingest.tensorboard.wire import masked_crc

SAMPLES = Path(__file__).parent / "samples" / "tensorboard"
T0_S = 1_795_981_200


def sample(writer):
    """The path of the sample by "tensorboard" or "tensorboardX"."""
    (path,) = SAMPLES.glob("*.0" if writer == "tensorboard" else "*gpu-a01")
    return path


def scalar(step, value, *, tag="train/loss", at_s=None):
    """An event with one scalar."""
    event = MESSAGES["Event"](wall_time=T0_S + (step if at_s is None else at_s), step=step)
    event.summary.value.add(tag=tag.encode(), simple=value)
    return event.SerializeToString()


def version(at_s=0):
    """The event that every file begins with."""
    return MESSAGES["Event"](
        wall_time=T0_S + at_s, file_version=b"brain.Event:2"
    ).SerializeToString()


def goes_on(step, at_s=0):
    """The event of a writer that voids what was logged from `step` on."""
    event = MESSAGES["Event"](wall_time=T0_S + at_s, step=step)
    event.session_log.status = 1
    return event.SerializeToString()


def framed(records):
    """The bytes of an event file with these records."""
    return b"".join(map(_framed, records))


def _framed(record):
    length = struct.pack("<Q", len(record))
    head = length + struct.pack("<I", masked_crc(length))
    return head + record + struct.pack("<I", masked_crc(record))
