"""rollbacks.trying.dry_run."""

import pytest

from apps.accounts import store as accounts
from apps.accounts.services import Forbidden
from apps.core.errors import NotFound, Refused
from apps.rollbacks import policy_store, services, store, trying
from apps.rollbacks.records import RollbackPolicy
from tests import rollback_story
from tests.rollback_story import EVE, asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident():
    return rollback_story.explode()


def bare(step=900, **fields):
    return asked(step, confirm="", reason="", idempotency_key="", **fields)


def told(found):
    return {(effect.what, effect.text) for effect in found.effects}


def test_it_says_what_would_happen_and_does_nothing(incident):
    before = accounts.audit_rows(5)
    found = trying.dry_run(bare(exclude_nodes=("gpu-b02",), skip_ranges=((1_000, 1_100),)))
    assert (found.refused, found.second_approver) == ("", False)
    kinds = [effect.what for effect in found.effects]
    assert kinds[0] == "order"
    assert kinds[-1] == "unchanged"
    assert {"incident", "resume_point", "file", "launcher", "branch", "lost_work"} <= set(kinds)
    assert ("exclude", "The new start does not use gpu-b02.") in told(found)
    assert ("skip", "The data of steps 1,000 to 1,100 is to be skipped.") in told(found)
    assert ("lost_work", "349 steps behind step 900 are done again: 0.776 GPU-hours.") in told(
        found
    )
    assert found.payload["env"]["CKPT_RESUME_STEP"] == "900"
    assert found.seen.words == "it lies under no storage root, so nobody could look at it now"
    assert store.orders(incident.run_id) == []
    assert accounts.audit_rows(5) == before


def test_a_webhook_that_would_be_told_is_named_without_its_path(incident, settings):
    settings.ORDER_WEBHOOK_URL = "https://launcher.example/hooks/s3cret"
    (text,) = [text for what, text in told(trying.dry_run(bare())) if what == "webhook"]
    assert "launcher.example" in text
    assert "s3cret" not in text


def test_what_would_refuse_the_order_is_told_beside_its_effects(incident):
    found = trying.dry_run(bare(1_050))
    assert found.refused.startswith("step 1050 is no eligible candidate")
    assert found.effects
    assert trying.dry_run(bare(1_050, force=True)).refused == ""
    services.request(asked())
    found = trying.dry_run(bare(750))
    assert found.refused.endswith("by ada is requested")
    assert trying.dry_run(bare(750, supersede=True)).refused == ""
    assert any(text.endswith("is superseded and given out no more.") for _, text in told(found))


def test_it_says_that_a_second_person_has_to_agree(incident):
    policy_store.save("", RollbackPolicy(50, second_approver=True, version=2, changed_by="boss"))
    found = trying.dry_run(bare())
    assert found.second_approver
    assert any(text.startswith("Once it is approved") for _, text in told(found))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"actor": EVE}, Forbidden),
        ({"run_key": "nobody"}, NotFound),
        ({"step": 901}, NotFound),
        ({"skip_ranges": ((10, 5),)}, Refused),
    ],
)
def test_what_is_wrong_with_the_question_is_an_error(incident, change, error):
    with pytest.raises(error):
        trying.dry_run(bare(**change))
