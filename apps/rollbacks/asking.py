"""What somebody asks for, checked as a form, and as the order that it would become."""

from __future__ import annotations

from apps.accounts.records import Actor
from apps.core.clock import now_ns
from apps.core.errors import Refused
from apps.rollbacks.choosing import Choice
from apps.rollbacks.domain.order import branch_directory
from apps.rollbacks.domain.state import OrderState
from apps.rollbacks.records import NewOrder, OrderInfo, RollbackPolicy, RollbackRequest

MAX_REASON = 2_000
MAX_KEY = 128
MAX_NODES = 4_096
MAX_RANGES = 100
NUMBER = "<number>"
"""Stands for the number of an order that nobody has given."""


def not_confirmed(typed: str, step: int) -> Refused:
    """What is said to somebody who typed another step."""
    return Refused(
        f'typed "{typed[:40]}" to confirm step {step}', where="confirm", hint=f"type {step}"
    )


def check_form(asked: RollbackRequest) -> None:
    """Raises Refused for a wrong confirmation, a missing reason or key, and for what
    `check_options` refuses."""
    if asked.confirm.strip() != str(asked.step):
        raise not_confirmed(asked.confirm, asked.step)
    if not asked.reason.strip() or len(asked.reason) > MAX_REASON:
        raise Refused(
            "a reason is missing or too long", where="reason",
            hint=f"say why in 1 to {MAX_REASON} characters: it goes into the audit trail",
        )  # fmt: skip
    if not 0 < len(asked.idempotency_key) <= MAX_KEY:
        raise Refused(
            "the idempotency key is missing or too long", where="idempotency_key",
            hint=f"send 1 to {MAX_KEY} characters, a new one for every decision",
        )  # fmt: skip
    check_options(asked)


def check_options(asked: RollbackRequest) -> None:
    """Raises Refused for ranges, nodes or texts that cannot be kept."""
    if any(not 0 <= first <= last < 2**62 for first, last in asked.skip_ranges):
        raise Refused(
            "a range to skip ends before it begins", where="skip_ranges",
            hint="send [first step, last step]",
        )  # fmt: skip
    if "\x00" in "".join((asked.reason, asked.idempotency_key, *asked.exclude_nodes)):
        raise Refused("a NUL character in a text", hint="send plain text")
    if len(asked.exclude_nodes) > MAX_NODES or len(asked.skip_ranges) > MAX_RANGES:
        raise Refused("too many nodes or ranges", hint=f"at most {MAX_NODES} and {MAX_RANGES}")


def new_order(asked: RollbackRequest, choice: Choice, rules: RollbackPolicy) -> NewOrder:
    """The order, ready to be written: proposed where the rules ask for a second person."""
    incident = choice.incident
    return NewOrder(
        idempotency_key=asked.idempotency_key,
        incident_id=incident.id if incident else None,
        kind=choice.fault.kind,
        onset_step=incident.onset_step if incident else None,
        from_attempt=choice.newest.number,
        attempt=choice.checkpoint.attempt,
        step=choice.checkpoint.step,
        path=choice.checkpoint.path,
        inventory_digest=choice.checkpoint.digest,
        exclude_nodes=asked.exclude_nodes,
        skip_ranges=asked.skip_ranges,
        forced=not choice.eligible,
        reason=asked.reason.strip(),
        actor=asked.actor.name[:200],
        requested_at_ns=now_ns(),
        state=OrderState.PROPOSED if rules.second_approver else OrderState.REQUESTED,
    )


def unwritten(run_id: int, new: NewOrder) -> OrderInfo:
    """The order as it would be; its number is 0 and NUMBER stands in the branch directory."""
    given = {name: getattr(new, name) for name in NewOrder.__dataclass_fields__}
    return OrderInfo(
        id=0,
        run_id=run_id,
        branch_dir=branch_directory(new.path, name=f"rollback-{NUMBER}"),
        changed_at_ns=0,
        launch="",
        resumed_attempt=None,
        resumed_step=None,
        verdict=None,
        **given,
    )


def again(run_key: str, order: OrderInfo, actor: Actor) -> RollbackRequest:
    """The request that an order came from, as it is asked when somebody approves it."""
    return RollbackRequest(
        run_key=run_key,
        step=order.step,
        attempt=order.attempt,
        confirm=str(order.step),
        reason=order.reason,
        idempotency_key=order.idempotency_key,
        actor=actor,
        incident_id=order.incident_id,
        force=order.forced,
        exclude_nodes=order.exclude_nodes,
        skip_ranges=order.skip_ranges,
    )
