"""config.oidc: what the settings say of the provider; what would be half a lock stops the start."""

import pytest

from apps.accounts.records import Role
from apps.core.errors import AppError
from config import oidc

WHOLE = {
    "OIDC_ISSUER": "https://id.example.org/realms/lab/",
    "OIDC_CLIENT_ID": "lastgood",
    "OIDC_CLIENT_SECRET": "s3cret",
}


@pytest.fixture
def given(monkeypatch):
    """given(NAME=value): the provider of these settings."""

    def read(**changed):
        for name, value in {**WHOLE, **changed}.items():
            monkeypatch.setenv(name, value)
        return oidc.provider()

    return read


def test_without_an_issuer_there_is_none(given):
    assert given(OIDC_ISSUER="") is None


def test_by_itself_it_lets_nobody_in_who_is_not_known(given):
    found = given()
    assert found.issuer == "https://id.example.org/realms/lab"
    assert (found.creates, found.trusts_mail, found.gives_roles) == (False, False, False)
    assert (found.name, found.scopes) == ("single sign-on", ("openid", "profile", "email"))


def test_the_address_of_its_description_will_do(given):
    address = "https://id.example.org/realms/lab/.well-known/openid-configuration"
    assert given(OIDC_ISSUER=address).issuer == "https://id.example.org/realms/lab"


def test_groups_are_lists_and_scopes_may_be_written_either_way(given):
    found = given(OIDC_ADMIN_GROUPS="leads, /ml/heads", OIDC_SCOPES="openid, groups")
    assert found.groups[Role.ADMIN] == {"leads", "/ml/heads"}
    assert found.scopes == ("openid", "groups") and found.gives_roles


def test_the_secret_may_come_from_a_file_and_is_not_shown(given, tmp_path):
    (tmp_path / "secret").write_text("from a file\n")
    found = given(OIDC_CLIENT_SECRET="", OIDC_CLIENT_SECRET_FILE=str(tmp_path / "secret"))
    assert found.client_secret == "from a file"
    assert "from a file" not in repr(found)


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:8080", "http://localhost/dex"])
def test_on_this_machine_it_may_be_tried_without_tls(given, issuer):
    assert given(OIDC_ISSUER=issuer).issuer == issuer


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"OIDC_ISSUER": "http://id.example.org"}, "OIDC_ISSUER: tokens would travel in the clear"),
        ({"OIDC_ISSUER": "id.example.org"}, "OIDC_ISSUER: this is not an address"),
        ({"OIDC_CLIENT_ID": ""}, "OIDC_CLIENT_ID: it is not set"),
        ({"OIDC_CLIENT_SECRET": ""}, "OIDC_CLIENT_SECRET: it is not set"),
        ({"OIDC_SCOPES": "profile"}, "OIDC_SCOPES: the scope openid is missing"),
        ({"OIDC_CREATE": "1"}, "OIDC_CREATE: this alone would let anybody in"),
        ({"OIDC_PASSWORDS": "none"}, 'OIDC_PASSWORDS: "none" is not allowed'),
    ],
)
def test_half_a_lock_stops_the_start(given, changed, message):
    with pytest.raises(AppError) as caught:
        given(**changed)
    assert str(caught.value).startswith(message)


def test_whoever_it_lets_through_may_be_let_in_knowingly(given):
    assert given(OIDC_CREATE="1", OIDC_VIEWER_GROUPS="*").creates
