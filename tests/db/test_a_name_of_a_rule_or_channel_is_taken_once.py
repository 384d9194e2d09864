"""alerts.rules and alerts.channels, changed by two people at the same moment."""

import pytest

from apps.accounts.records import Actor
from apps.alerts import channels, rules
from apps.alerts.channels import ChannelAsked
from apps.alerts.domain.routing import ChannelKind, Rule
from apps.alerts.models import Channel
from apps.alerts.models import Rule as RuleRow
from apps.core.errors import AppError
from tests.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
ADMIN = Actor("user", "ada", frozenset({"admin"}))


def test_of_two_rules_with_one_name_the_second_is_refused_in_words():
    rule = Rule(0, "night", everybody=True)

    errors = at_once(*[lambda: rules.add(rule, ADMIN, 1)] * 3)

    assert [str(error) for error in errors] == ["name: another rule is called night"] * 2
    assert all(isinstance(error, AppError) for error in errors)
    assert RuleRow.objects.count() == 1


def test_of_two_channels_with_one_name_the_second_is_refused_in_words():
    asked = ChannelAsked("mail", ChannelKind.EMAIL, "a@example.org")

    errors = at_once(*[lambda: channels.add(asked, ADMIN, 1)] * 3)

    assert [str(error) for error in errors] == ["name: another channel is called mail"] * 2
    assert Channel.objects.count() == 1
