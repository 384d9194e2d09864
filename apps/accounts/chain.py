"""The audit trail as a chain of seals: it grows behind the writers, who never wait for it."""

from __future__ import annotations

import logging

from apps.accounts import seal_store
from apps.accounts.domain.chain import START, sealed
from apps.accounts.records import Seal

SEAL_ROWS = 5_000
"""Entries of one seal at most: a check reads them at once."""
GROW_SEALS = 20
CHECK_SEALS, CHECK_ROWS = 200, 50_000
"""A check reads so many seals, and of large ones fewer: so many entries, a second or two."""

log = logging.getLogger(__name__)


def keep(now_ns: int) -> dict[str, int]:
    """Seals what is final and checks the seals whose turn it is: how many of each, and broken."""
    made = grow(now_ns)
    checked, broken = check(now_ns)
    return {"made": made, "checked": checked, "broken": broken}


def grow(now_ns: int) -> int:
    """Seals the entries that are final; how many seals were made. 0 too where a writer was busy:
    the next round takes them."""
    final = seal_store.final_id()
    for made in range(GROW_SEALS):
        head = seal_store.head()
        after_id = head.last_id if head else 0
        rows = seal_store.entries(after_id, final, SEAL_ROWS) if final else []
        if not rows:
            return made
        seal_store.add(
            Seal(
                number=head.number + 1 if head else 1,
                last_id=rows[-1].id,
                rows=len(rows),
                digest=sealed(head.digest if head else START, rows),
                sealed_at_ns=now_ns,
            )
        )
    return GROW_SEALS


def check(now_ns: int) -> tuple[int, int]:
    """(how many seals were checked, how many do not fit), those not checked for longest first."""
    broken = checked = rows = 0
    for seal in seal_store.to_check(CHECK_SEALS):
        rows += seal.rows
        if checked and rows > CHECK_ROWS:
            break
        checked += 1
        fits = _fits(seal)
        seal_store.note_check(seal.number, now_ns, broken=not fits)
        if not fits:
            broken += 1
            log.error("accounts.audit_broken", extra={"seal": seal.number})
    return checked, broken


def _fits(seal: Seal) -> bool:
    """Whether its entries and the seal before it are what they were."""
    before = seal_store.get(seal.number - 1)
    if before is None and seal.number > 1:
        return False
    after_id = before.last_id if before else 0
    rows = seal_store.entries(after_id, seal.last_id, SEAL_ROWS + 1)
    return sealed(before.digest if before else START, rows) == seal.digest
