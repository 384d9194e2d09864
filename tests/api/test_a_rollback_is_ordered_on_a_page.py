"""The drawer as a plain form: nothing is ordered by accident."""

import pytest

from apps.accounts import store as accounts
from apps.rollbacks import store

PATH = "/runs/boom/rollback/"
FORM = {
    "choice": "0:900",
    "previewed": "0:900",
    "reason": "loss exploded",
    "key": "page-1",
    "act": "order",
    "confirm": "900",
}


def orders(incident):
    return store.orders(incident.run_id)


def test_the_best_candidate_is_chosen_and_previewed(operator, incident):
    text = operator.get(PATH).content.decode()
    assert 'value="0:900" checked' in text
    assert "Roll back attempt 0 to step 900" in text
    assert "&quot;CKPT_RESUME_STEP&quot;: &quot;900&quot;" in text
    assert "/data/boom.rollback-&lt;number&gt;" in text


def test_a_link_of_the_triage_card_fills_in_what_it_suggests(operator, incident):
    page = operator.get(f"{PATH}?step=750&skip_from=999&skip_to=1098").content.decode()
    assert 'name="skip_from" value="999"' in page
    assert 'name="skip_to" value="1098"' in page
    assert "Roll back attempt 0 to step 750" in page


def test_typing_the_step_orders_it_and_leaves_an_audit_row(operator, incident):
    answer = operator.post(f"{PATH}?incident={incident.id}", {**FORM, "exclude": ["gpu-b02"]})
    (order,) = orders(incident)
    assert answer["Location"] == f"/runs/boom/orders/{order.id}/"
    assert (order.step, order.exclude_nodes, order.actor) == (900, ("gpu-b02",), "ada")
    assert accounts.audit_rows(1)[0].action == "rollback.requested"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"confirm": ""}, "to confirm step 900"),
        ({"confirm": "750"}, "to confirm step 900"),
        ({"reason": " "}, "a reason is missing or too long"),
        ({"previewed": "0:750"}, "You chose another checkpoint"),
        ({"choice": "0:1050", "previewed": "0:1050", "confirm": "1050"}, "no eligible candidate"),
        ({"choice": "x", "previewed": "x"}, "Choose a checkpoint first."),
    ],
)
def test_a_slip_orders_nothing_and_keeps_what_was_typed(operator, incident, change, said):
    page = operator.post(PATH, {**FORM, **change})
    assert page.status_code in (400, 404, 422)
    assert said in page.content.decode()
    assert orders(incident) == []


def test_a_preview_orders_nothing(operator, incident):
    page = operator.post(PATH, {**FORM, "act": "preview", "choice": "0:750"})
    assert page.status_code == 200
    assert "Roll back attempt 0 to step 750" in page.content.decode()
    assert orders(incident) == []


def test_a_double_click_is_one_order(operator, incident):
    operator.post(PATH, FORM)
    operator.post(PATH, FORM)
    assert len(orders(incident)) == 1


def test_a_second_decision_hears_who_was_first(operator, incident):
    operator.post(PATH, FORM)
    page = operator.post(PATH, {**FORM, "key": "page-2"})
    assert page.status_code == 409
    assert "to step 900 by ada is requested" in page.content.decode()


def test_an_order_is_taken_back_with_a_reason(operator, incident):
    operator.post(PATH, FORM)
    (order,) = orders(incident)
    operator.post(f"/runs/boom/orders/{order.id}/cancel/", {"reason": "wrong run"})
    assert orders(incident)[0].state == "cancelled"


def test_a_reader_orders_nothing(reader, incident):
    assert reader.post(PATH, FORM).status_code == 403
    assert orders(incident) == []
