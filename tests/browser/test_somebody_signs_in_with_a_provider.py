"""A real browser goes from the link of a mail to the provider and back, under the strict policy."""

import copy

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, fits
from tests.oidc_provider import CLIENT, SECRET, providing
from tests.oidc_trip import ADA
from tests.system.processes import free_port


@pytest.fixture(scope="module")
def with_provider(site):
    """The address of a second web of the site (with events, as it tells its own pages alone), where
    a provider is set up."""
    with providing() as provider:
        provider.person = {**ADA, "preferred_username": "grace", "email": "grace@example.org"}
        other = copy.copy(site)
        other.port, other.running, events = free_port(), {}, free_port()
        other.env = {
            **site.env,
            "PORT": str(other.port),
            "EVENTS_URL": f"http://127.0.0.1:{events}/events",
            "OIDC_ISSUER": provider.url,
            "OIDC_CLIENT_ID": CLIENT,
            "OIDC_CLIENT_SECRET": SECRET,
            "OIDC_NAME": "Keycloak",
            "OIDC_CREATE": "1",
            "OIDC_VIEWER_GROUPS": "*",
        }
        try:
            other.start_web()
            other.start_events(events)
            yield other.url
        finally:
            for name in list(other.running):
                other.kill(name)


def test_from_the_link_of_a_mail_on_a_phone(visit, with_provider):
    page = visit(**PHONE, base_url=with_provider, storage_state=None).page
    page.goto("/incidents/?from=mail")
    assert fits(page)
    page.get_by_role("button", name="Sign in with Keycloak").tap()
    page.wait_for_url("**/incidents/?from=mail")
    expect(page.get_by_role("heading", name="Incidents")).to_be_visible()
