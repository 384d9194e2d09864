"""One row of a bank: who is outside, since when, and what is learned from the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.core.robust import MAD_TO_SD
from apps.metrics.domain.bank_state import APART, RING, ROWS, Array, BankState, Singles
from apps.metrics.domain.blocks import Bools, Ints

TINY = np.float32(1e-30)
_MANY = 200
_FEW = 64
"""Lanes of which it is worth asking whether none comes near its edge: of more, one always does."""
_HALF = np.float32(0.5)
_SD = np.float32(MAD_TO_SD)


@dataclass(frozen=True, slots=True)
class BankPolicy:
    """When a series has left its band. Rows are logged values of the series itself.

    A value is out beyond `z` robust standard deviations and the share of the level its statistic
    asks for. A series has moved when `need` of its last `of` values are out on one side, or enough
    running by `far` times as much. It is loud once a value was beyond `loud_z`. Its move began at
    the first value beyond `lean_z` since which no `calm` values running were inside that. It is
    back after `back` values inside. It settles when APART blocks outside differ by no more than
    `alike` of the way they went. min_blocks: before a band is known; young_blocks: before verdicts.
    A limit is passed by `over_need` of 4 values after `under_need` running below it.

    Source: chosen on own tiny runs and five recorded ones, then counted on gradient norm and loss
    of 26 public logs (335,643 values, no move); `bench detect --data` shows the own runs.
    """

    min_blocks: int = 4
    young_blocks: int = 24
    trend_share: float = 0.5
    lean_z: float = 3.0
    z: float = 6.0
    loud_z: float = 12.0
    far: float = 3.0
    need: int = 12
    of: int = 16
    calm: int = 2
    back: int = 10
    floor_ratio: float = 0.005
    alike: float = 0.25
    over_need: int = 3
    under_need: int = 16
    over_rows: int = 200


@dataclass(frozen=True, slots=True)
class Seen:
    """Some lanes of a row: at[m] and their values."""

    at: Array
    x: Singles
    step: Ints
    time_ns: Ints

    def of(self, chosen: Array) -> Seen:
        """The chosen ones."""
        return Seen(self.at[chosen], self.x[chosen], self.step[chosen], self.time_ns[chosen])


class Judge:
    """Judges row by row the lanes (series that have a value in each of these rows)."""

    def __init__(self, lanes: BankState, policy: BankPolicy) -> None:
        self.lanes, self.policy = lanes, policy
        self._limited = np.flatnonzero(np.isfinite(lanes.limit))

    def pass_over(self, x: Singles) -> int:
        """Learns from the first of these rows what `take` would, block by block, for as long as no
        lane leans; how many. Their steps are the caller's to note."""
        s = self.lanes
        if len(s) > _FEW or len(self._limited) or s.moved.any() or s.leans.any():
            return 0
        passed = taken = room = 0
        while taken == room and passed < len(x):
            room = min(ROWS - int(s.fill.max()), len(x) - passed)
            taken = self._calm(x[passed : passed + room])
            passed += taken
        return passed

    def _calm(self, x: Singles) -> int:
        """Rows that belong to one block of each lane, up to the first in which one leans."""
        s = self.lanes
        fill = s.fill + np.arange(len(x), dtype=s.fill.dtype)[:, None]
        miss = np.abs(x - (s.level + s.slope * fill))
        stop = (miss > self.policy.lean_z * s.scale) & (s.age >= self.policy.young_blocks)
        stop |= ~np.isfinite(x)
        stops = stop.any(axis=1)
        first = int(stops.argmax())
        count = first if stops[first] else len(x)
        if count:
            lanes, column = np.arange(len(s)), fill[:count]
            s.part[lanes, column], s.miss[lanes, column] = x[:count], miss[:count]
            s.fill += np.uint8(count)
            self._close()
        return count

    def take(self, x: Singles, step: Ints, time_ns: Ints) -> list[tuple[str, Seen]]:
        """Judges one value of each lane and learns from it; what happened, by name of `What`."""
        s, policy = self.lanes, self.policy
        row = Seen(np.arange(len(x)), x, step, time_ns)
        foretold = s.level + s.slope * s.fill
        miss = np.abs(x - foretold)
        finite = np.isfinite(x)
        lean = (miss > policy.lean_z * s.scale) | ~finite
        lean &= s.age >= policy.young_blocks
        busy = lean | (s.leans > 0) | s.moved
        keep = finite
        found: list[tuple[str, Seen]] = []
        if busy.any():
            out = lean & (miss > policy.z * s.scale) & (miss > s.excess * np.abs(foretold))
            out |= lean & ~finite
            found = self._follow(row.of(busy), foretold[busy], lean[busy], out[busy])
            keep = finite & (s.moved | ~out)
        if len(self._limited):
            found += self._limit(row.of(self._limited))
        s.last_step[:] = step
        settled = self._learn(x, miss, keep)
        if len(settled):
            chosen = np.isin(row.at, settled)
            found.append(("SETTLED", row.of(chosen)))
        return found

    def forget(self, at: Array) -> None:
        """Lanes whose move is over. Call it when it has been told."""
        s = self.lanes
        s.moved[at] = s.loud[at] = False
        s.leans[at] = s.outs[at] = s.fars[at] = s.fill[at] = s.aparts[at] = 0

    # -- the stretch outside ----------------------------------------------------------------

    def _follow(
        self, seen: Seen, foretold: Singles, lean: Bools, out: Bools
    ) -> list[tuple[str, Seen]]:
        s, policy, at = self.lanes, self.policy, seen.at
        finite = np.isfinite(seen.x)
        miss = np.abs(seen.x - foretold)
        z = np.where(finite, miss / s.scale[at], np.inf).astype(np.float32)
        side = np.where(finite, np.where(seen.x < foretold, -1, 1), s.side[at])
        self._lean(seen, foretold, (lean, side, z))
        out = out & (s.leans[at] > 0)
        far = out & (z > policy.far * policy.z)
        far &= ~finite | (miss > policy.far * s.excess[at] * np.abs(foretold))
        s.outs[at] = (s.outs[at] << 1) | out
        s.fars[at] = np.where(far, np.minimum(s.fars[at] + 1, _MANY), 0)
        s.inside[at] = np.where(out, 0, np.minimum(s.inside[at] + 1, _MANY))
        s.peak_z[at] = np.maximum(s.peak_z[at], np.where(out, z, 0))
        return self._verdicts(seen)

    def _lean(self, seen: Seen, foretold: Singles, how: tuple[Bools, Array, Singles]) -> None:
        """Where the stretch beyond lean_z began; it begins anew on the other side."""
        s, at = self.lanes, seen.at
        lean, side, z = how
        turned = (side != s.side[at]) & ~s.moved[at]
        start = lean & ((s.leans[at] == 0) | turned)
        began = at[start]
        s.lean_step[began], s.lean_ns[began] = seen.step[start], seen.time_ns[start]
        s.lean_value[began], s.lean_level[began] = seen.x[start], foretold[start]
        s.lean_z[began], s.side[began] = z[start], side[start]
        s.outs[began] = s.fars[began] = s.inside[began] = 0
        s.peak_z[began] = 0
        s.calm[at] = np.where(lean, 0, np.minimum(s.calm[at] + 1, _MANY))
        s.leans[at] = np.where(start, 1, np.minimum(s.leans[at] + lean, _MANY))
        over = at[~s.moved[at] & (s.calm[at] >= self.policy.calm)]
        s.leans[over] = s.outs[over] = 0

    def _verdicts(self, seen: Seen) -> list[tuple[str, Seen]]:
        s, policy, at = self.lanes, self.policy, seen.at
        known = s.moved[at]
        last = s.outs[at] & np.uint16((1 << policy.of) - 1)
        enough = np.bitwise_count(last) >= policy.need
        moved = ~known & (enough | (s.fars[at] >= s.far_need[at]))
        back = known & (s.inside[at] >= policy.back)
        s.moved[at[moved]] = True
        s.fill[at[moved]] = s.aparts[at[moved]] = 0
        loud = s.moved[at] & ~s.loud[at] & (s.peak_z[at] > policy.loud_z)
        s.loud[at[loud]] = True
        told = (("MOVED", moved), ("LOUD", loud), ("BACK", back))
        found = [(name, seen.of(which)) for name, which in told if which.any()]
        self.forget(at[back])
        return found

    def _limit(self, seen: Seen) -> list[tuple[str, Seen]]:
        """Against the absolute limit. A series that was always above it is not told."""
        s, policy, at = self.lanes, self.policy, seen.at
        above = ~(seen.x <= s.limit[at])
        ready = (s.under[at] >= policy.under_need) | (s.overs[at] > 0)
        s.overs[at] = np.where(ready, ((s.overs[at] << 1) | above) & np.uint8(15), 0)
        s.under[at] = np.where(above, 0, np.minimum(s.under[at] + 1, _MANY))
        over = ~s.over[at] & (np.bitwise_count(s.overs[at]) >= policy.over_need)
        s.over_run[at] = np.where(s.over[at], np.minimum(s.over_run[at] + 1, 60_000), 0)
        s.over[at[over]] = True
        calm = (s.under[at] >= policy.back) | (s.over_run[at] >= policy.over_rows)
        under = s.over[at] & ~over & calm
        s.over[at[under]] = False
        s.overs[at[under]] = 0
        told = (("OVER", over), ("UNDER", under))
        return [(name, seen.of(which)) for name, which in told if which.any()]

    # -- the past ---------------------------------------------------------------------------

    def _learn(self, x: Singles, miss: Singles, keep: Bools) -> Array:
        """Puts values into their blocks; the lanes that have settled."""
        s = self.lanes
        fill = s.fill
        if keep.all() and (fill == fill[0]).all():
            column = int(fill[0])
            s.part[:, column], s.miss[:, column] = x, miss
            fill += 1
            if column < ROWS - 1:
                return _NONE
        else:
            lanes = np.flatnonzero(keep)
            s.part[lanes, fill[lanes]], s.miss[lanes, fill[lanes]] = x[lanes], miss[lanes]
            fill[lanes] += 1
        return self._close()

    def _close(self) -> Array:
        """What full blocks are taken for; the lanes that have settled."""
        s = self.lanes
        full = np.flatnonzero(s.fill == ROWS)
        if not len(full):
            return _NONE
        s.fill[full] = 0
        outside = s.moved[full]
        self._block(full[~outside])
        return self._apart(full[outside])

    def _block(self, at: Array) -> None:
        """A healthy block enters the ring."""
        if not len(at):
            return
        s = self.lanes
        these = slice(None) if len(at) == len(s) else at  # all are taken as views
        part, scale = s.part[these], s.scale[these]
        middle = _median(part)
        known = np.isfinite(scale)[:, None]
        miss = np.where(known, s.miss[these], np.abs(part - middle[:, None]))
        _push(s.medians, these, middle)
        _push(s.misses, these, _median(miss))
        s.blocks[these] = np.minimum(s.blocks[these] + 1, RING)
        s.age[these] = np.minimum(s.age[these] + 1, _MANY)
        self._fit(at)

    def _fit(self, at: Array) -> None:
        """The band of the next block, from the ring."""
        s, policy = self.lanes, self.policy
        filled = s.blocks[at]
        for blocks in sorted(set(filled.tolist())):
            if blocks < policy.min_blocks:
                continue
            these, half = at[filled == blocks], blocks // 2
            ring = s.medians[these, -2 * half :].reshape(-1, half)
            older, newer = _median(ring).reshape(-1, 2).T
            slope = np.float32(policy.trend_share / (half * ROWS)) * (newer - older)
            ahead = np.float32((half - 1) / 2 * ROWS + (ROWS + 1) / 2)
            level = newer + slope * ahead
            usual = _SD * _median(s.misses[these, -blocks:])
            floor = np.maximum(np.float32(policy.floor_ratio) * np.abs(level), TINY)
            s.level[these], s.slope[these] = level, slope
            s.scale[these] = np.maximum(usual, floor)

    def _apart(self, at: Array) -> Array:
        """A block outside. Enough that look alike become the past; the lanes of which they do."""
        if not len(at):
            return at
        s = self.lanes
        middle = _median(s.part[at])
        spread = _median(np.abs(s.part[at] - middle[:, None]))
        _push(s.apart, at, middle)
        _push(s.apart_misses, at, spread)
        s.aparts[at] = np.minimum(s.aparts[at] + 1, APART)
        at = at[s.aparts[at] == APART]
        ring = s.apart[at]
        gone = np.abs(_median(ring) - s.level[at]) if len(at) else ring[:, 0]
        at = at[np.ptp(ring, axis=1) <= self.policy.alike * gone]
        s.medians[at, -APART:], s.misses[at, -APART:] = s.apart[at], s.apart_misses[at]
        s.blocks[at] = APART
        self._fit(at)
        self.forget(at)
        return at


_NONE = np.zeros(0, dtype=np.intp)


def _median(values: Singles) -> Singles:
    """Of each row of a matrix with at least one column. Of so few, sorting is the quickest."""
    middle = values.shape[1] // 2
    ranked = np.sort(values, axis=1)
    found: Singles = ranked[:, middle]
    return found if values.shape[1] % 2 else _HALF * (ranked[:, middle - 1] + found)


def _push(ring: Singles, at: Array | slice, value: Singles) -> None:
    """The newest value of the chosen rings, in place of their oldest."""
    ring[at, :-1] = ring[at, 1:]
    ring[at, -1] = value
