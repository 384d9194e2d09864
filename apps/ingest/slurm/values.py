"""Values as the JSON of Slurm has them, which changed their form from version to version."""

from __future__ import annotations

from typing import Annotated

import msgspec


class Maybe(msgspec.Struct, frozen=True):
    """A number from 23.02 on: there, or not, or without bound."""

    set: bool = False
    infinite: bool = False
    number: int | float = 0


Number = int | float | Maybe
States = Annotated[tuple[str, ...], msgspec.Meta(max_length=64)] | str


def whole(number: Number) -> int | None:
    """The number without its fraction; None if it is not set, infinite or NaN."""
    if isinstance(number, Maybe):
        if number.infinite or not number.set:
            return None
        number = number.number
    return int(number) if abs(number) < 2**62 else None


def words(found: States) -> tuple[str, ...]:
    """States in capitals: "idle" of 22.05, ["IDLE", "DRAIN"] of later ones."""
    return tuple(one.upper() for one in ((found,) if isinstance(found, str) else found))
