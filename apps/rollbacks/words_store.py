"""Changes of orders that the webhook is still to be told. A row goes when that is over."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from apps.core.sql import query
from apps.rollbacks.models import OrderWord


@dataclass(frozen=True, slots=True)
class DueWord:
    """A change that this worker tells now. tries: this one included."""

    run_id: int
    order_id: int
    seq: int
    tries: int


def add(run_id: int, order_id: int, seq: int, at_ns: int) -> None:
    """To be told, in the transaction of the change itself."""
    OrderWord.objects.create(run_id=run_id, order_id=order_id, seq=seq, due_at_ns=at_ns)


def claim(now_ns: int, until_ns: int, limit: int) -> list[DueWord]:
    """What is due; others leave it alone until `until_ns`. Of one order only the oldest: a receiver
    hears of each in its order. -- uses ix_order_word_due"""
    sql = """
        WITH due AS MATERIALIZED (
          SELECT run_id, order_id, seq FROM rollbacks_orderword AS w
          WHERE due_at_ns <= %s AND NOT EXISTS (
            SELECT 1 FROM rollbacks_orderword AS e
            WHERE e.run_id = w.run_id AND e.order_id = w.order_id AND e.seq < w.seq)
          ORDER BY due_at_ns LIMIT %s FOR UPDATE SKIP LOCKED
        )
        UPDATE rollbacks_orderword AS w SET due_at_ns = %s, tries = w.tries + 1 FROM due
        WHERE w.run_id = due.run_id AND w.order_id = due.order_id AND w.seq = due.seq
        RETURNING w.run_id, w.order_id, w.seq, w.tries
    """
    return [DueWord(*row) for row in query(sql, (now_ns, limit, until_ns))]


def put_off(word: DueWord, due_at_ns: int) -> None:
    """Not to be told earlier."""
    _rows(word).update(due_at_ns=due_at_ns)


def end(word: DueWord) -> None:
    """Told, or given up."""
    _rows(word).delete()


def _rows(word: DueWord) -> QuerySet[OrderWord]:
    return OrderWord.objects.filter(run_id=word.run_id, order_id=word.order_id, seq=word.seq)
