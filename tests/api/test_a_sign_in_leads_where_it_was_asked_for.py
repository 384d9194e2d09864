"""?next= of the login page: what a mail linked to, and never another host."""

import pytest
from django.contrib.auth.models import User


@pytest.fixture
def signed_in_to(client, db, valkey, settings):
    """signed_in_to(next): where the login page leads."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_user("ada", password="right")

    def sign_in(where):
        form = {"username": "ada", "password": "right", "next": where}
        return client.post("/login/", form)["Location"]

    return sign_in


def test_the_link_of_a_mail_survives_the_sign_in(client, signed_in_to):
    asked = client.get("/incidents/7/?from=mail")["Location"]
    page = client.get(asked).content.decode()
    assert 'name="next" value="/incidents/7/?from=mail"' in page
    assert signed_in_to("/incidents/7/?from=mail") == "/incidents/7/?from=mail"


@pytest.mark.parametrize(
    "where",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "/\\evil.example/",
        "\\\\evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "https://testserver@evil.example/",
        "\t//evil.example/",
        "",
    ],
)
def test_another_host_is_never_led_to(signed_in_to, where):
    assert signed_in_to(where) == "/"
