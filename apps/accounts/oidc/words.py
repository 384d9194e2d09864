"""What somebody reads who did not get in: what happened, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from apps.accounts.domain.arrival import Claims, Denial, Provider
from apps.accounts.domain.loss import Cause


@dataclass(frozen=True, slots=True)
class Said:
    """A page about a sign-in that came to nothing."""

    status: int
    headline: str
    advice: str


_UNKNOWN, _OUT = "You are not known here yet", "You are shut out"
_ASK = "Ask an administrator of Lastgood"
_MEANWHILE = "Meanwhile an administrator can sign in with a password or a one-time link."


def of_denial(denial: Denial, provider: Provider, claims: Claims) -> Said:
    """For somebody whom the provider let through."""
    name = provider.name
    there = f"The mail address that {name} gave is {claims.mail}."
    if not claims.mail:
        there = f"{name} gave no mail address."
    headline, advice = {
        Denial.UNKNOWN: (
            _UNKNOWN,
            f"{there} {_ASK} to add you with the address that you have there, under Settings, "
            "Members and roles; then sign in again.",
        ),
        Denial.NOT_VERIFIED: (
            "Your mail address is not verified",
            f"{there} {name} does not say that it is yours, so Lastgood does not take you for the "
            f"person who has it here. Have it verified at {name}.",
        ),
        Denial.SEVERAL: (
            "You could be one of several people",
            f"{there} Several people have it here. {_ASK} to leave it with one of them.",
        ),
        Denial.OTHER_IDENTITY: (
            "Your mail address belongs to another account",
            f"{there} Whoever has it here signs in with another account of {name}. {_ASK} to "
            "unlink that one, if yours was made anew.",
        ),
        Denial.NO_GROUP: (
            "Your groups may not sign in",
            f"None of your groups at {name} may sign in here. Ask whoever looks after them; "
            f"{name} has to send them in the claim “{provider.groups_claim}”.",
        ),
        Denial.SHUT_OUT: (_OUT, f"An administrator did so. {_ASK} if that is a mistake."),
        Denial.NAME_TAKEN: (
            "Somebody here has your name",
            f"{there} {_ASK} to give it to the person of your name if that is you, under "
            "Settings, Members and roles; then sign in again.",
        ),
        Denial.NO_NAME: (
            _UNKNOWN,
            f"{name} gave no name to call you by. It has to send the claim “preferred_username”, "
            "or a verified mail address.",
        ),
    }[denial]
    return Said(403, headline, advice)


def of_loss(cause: Cause, provider: Provider) -> Said:
    """For somebody who did not get through."""
    name = provider.name
    return {
        Cause.AWAY: Said(503, f"{name} does not answer", f"Try again in a moment. {_MEANWHILE}"),
        Cause.STALE: Said(
            400,
            "This sign-in is over",
            "It is done already, was begun in another browser, or more than ten minutes ago. Begin "
            "again. If that happens each time, cookies are blocked, or this page has another "
            "address than Lastgood knows of.",
        ),
        Cause.REFUSED: Said(
            403,
            f"{name} did not let you in",
            f"You said no there, or may not use Lastgood. Ask whoever looks after {name}.",
        ),
        Cause.OTHER_CLOCK: Said(
            502,
            "Two clocks differ",
            f"{name} and this server are more than a minute apart, so its answer does not count. "
            f"Whoever runs Lastgood should look at the server's clock (NTP). {_MEANWHILE}",
        ),
        Cause.MISFIT: Said(
            502,
            f"The answer of {name} does not fit",
            "Nobody was signed in. The log of web says what was wrong with it, under oidc.lost. "
            f"{_MEANWHILE}",
        ),
    }[cause]
