"""accounts.domain.arrival: whom a mail address finds, whatever Postgres takes for the same."""

import pytest

from apps.accounts.domain.arrival import Claims, Known, whom

ADA = Known(1, active=True, linked=False, mail="Ada@github.com")


def found(mail, *same_mail):
    return whom(Claims("1", mail, verified=True), None, same_mail or [ADA])


@pytest.mark.parametrize("mail", ["ada@github.com", "ADA@GitHub.com"])
def test_capital_letters_are_nothing(mail):
    assert found(mail) is ADA


@pytest.mark.parametrize(
    "mail", ["ada@g\u0131thub.com", "ada@gith\u00fcb.com", "ad\uff41@github.com"]
)
def test_a_letter_whose_capital_is_the_same_is_another_letter(mail):
    """In most locales of Postgres the capital of a dotless i is I."""
    assert found(mail) is None


def test_who_only_looks_alike_is_not_one_of_several():
    assert found("ada@github.com", Known(2, True, False, "ada@g\u0131thub.com"), ADA) is ADA
