"""/settings/members/: adding people, changing their role, shutting them out."""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts import people, people_store, services, store
from apps.accounts.records import SYSTEM, Role
from apps.core.errors import Conflict

MEMBERS = "/settings/members/"
LINK = re.compile(r"http://127\.0\.0\.1:8000(/login/[\w-]+)")


def add(browser, name="grace", role="operator", mail=""):
    return browser.post(MEMBERS, {"name": name, "role": role, "mail": mail})


def change(browser, person, role, mail=""):
    form = {"role": role, "mail": mail, "reason": "on call"}
    return browser.post(f"{MEMBERS}{person.pk}/change/", form)


def link_in(answer):
    return LINK.search(answer.content.decode())[1]


def trail():
    return [(row.actor, row.action, row.object, row.reason) for row in store.audit_rows(50)]


def role_of(name):
    return people_store.role_of(User.objects.get(username=name))


@pytest.fixture
def grace(db, valkey):
    return User.objects.create_user("grace")


def test_a_person_is_added_and_signs_in_by_the_link(operator, client):
    link = link_in(add(operator, mail="grace@example.org"))
    client.logout()
    assert client.get(link).status_code == 302
    grace = User.objects.get(pk=client.session["_auth_user_id"])
    assert (grace.username, grace.email, role_of("grace")) == (
        "grace",
        "grace@example.org",
        Role.OPERATOR,
    )
    assert not grace.has_usable_password()


def test_the_link_is_shown_once_and_lies_nowhere(operator):
    link = link_in(add(operator))
    pages = operator.get(MEMBERS).content + operator.get("/audit/").content
    assert link.removeprefix("/login/").encode() not in pages
    assert trail()[:2] == [
        ("user:ada", "login_link.created", "user grace", ""),
        ("user:ada", "person.added", "user grace", ""),
    ]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": "ADA"}, "name: somebody has this name already"),
        ({"name": "two words"}, "name: this is no name"),
        ({"name": "\uff41da"}, "name: somebody has this name already"),
        ({"name": "x" * 151}, "name: this name is too long"),
        ({"name": "\ufb03" * 60}, "name: this name is too long"),
        ({"mail": "nowhere"}, "mail: this is no mail address"),
        ({"mail": f"a@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.{'f' * 60}.org"}, "too long"),
        ({"role": "root"}, "role: this is no role"),
    ],
)
def test_a_mistake_is_said_beside_what_was_entered(operator, form, said):
    page = add(operator, **form)
    assert page.status_code in (400, 409, 422)
    assert said in page.content.decode()
    assert User.objects.count() == 1


@pytest.mark.parametrize("role", list(Role))
def test_a_role_is_given(operator, grace, role):
    change(operator, grace, role)
    assert role_of("grace") is role
    assert services.actor_of(User.objects.get(pk=grace.pk)).scopes == services.ROLE_SCOPES[role]


def test_staff_and_members_of_the_group_are_operators(grace):
    grace.groups.add(Group.objects.create(name="operators"))
    User.objects.create_user("bob", is_staff=True)
    assert [one.role for one in people_store.people()] == [Role.OPERATOR, Role.OPERATOR]
    people.change(grace.pk, Role.VIEWER, "", actor=SYSTEM)
    assert role_of("grace") is Role.VIEWER


def test_a_change_is_audited_with_what_was_and_one_of_nothing_is_not(operator, grace):
    change(operator, grace, "operator")
    change(operator, grace, "operator")
    (row,) = store.audit_rows(50)
    assert (row.action, row.before, row.after, row.reason) == (
        "person.changed",
        {"role": "viewer"},
        {"role": "operator"},
        "on call",
    )


def test_whoever_is_shut_out_is_out_at_once(operator, grace, client, django_user_model):
    link = link_in(operator.post(f"{MEMBERS}{grace.pk}/link/"))
    theirs = type(client)()
    theirs.force_login(grace)
    assert theirs.get("/audit/").status_code == 200
    operator.post(f"{MEMBERS}{grace.pk}/active/", {"active": "no", "reason": "left"})
    assert theirs.get("/audit/").status_code == 302
    assert type(client)().get(link).status_code == 410
    assert trail()[0] == ("user:ada", "person.shut_out", "user grace", "left")


def test_a_link_of_before_does_not_work_after_a_return(operator, grace, client):
    link = link_in(operator.post(f"{MEMBERS}{grace.pk}/link/"))
    for into in ("no", "yes"):
        operator.post(f"{MEMBERS}{grace.pk}/active/", {"active": into})
    assert type(client)().get(link).status_code == 410


def test_a_new_link_ends_the_one_before(operator, grace, client):
    old, new = (link_in(operator.post(f"{MEMBERS}{grace.pk}/link/")) for _ in range(2))
    assert [type(client)().get(link).status_code for link in (old, new)] == [410, 302]


def test_nobody_who_is_shut_out_gets_a_link(operator, grace):
    people.set_active(grace.pk, False, actor=SYSTEM)
    assert operator.post(f"{MEMBERS}{grace.pk}/link/").status_code == 422


@pytest.mark.parametrize(
    "path_and_form",
    [("change", {"role": "viewer", "mail": ""}), ("active", {"active": "no"})],
    ids=["demoted", "shut out"],
)
def test_the_last_administrator_stays(operator, path_and_form):
    what, form = path_and_form
    ada = User.objects.get(username="ada")
    page = operator.post(f"{MEMBERS}{ada.pk}/{what}/", form)
    assert page.status_code == 409
    assert "this is the last administrator" in page.content.decode()
    assert (role_of("ada"), User.objects.get(pk=ada.pk).is_active) == (Role.ADMIN, True)


def test_one_of_two_administrators_may_go(operator, grace):
    people.change(grace.pk, Role.ADMIN, "", actor=SYSTEM)
    ada = User.objects.get(username="ada")
    assert change(operator, ada, "viewer").status_code == 302
    assert role_of("ada") is Role.VIEWER


def test_an_administrator_who_is_shut_out_does_not_count(operator, grace):
    people.change(grace.pk, Role.ADMIN, "", actor=SYSTEM)
    people.set_active(grace.pk, False, actor=SYSTEM)
    with pytest.raises(Conflict, match="last administrator"):
        people.set_active(User.objects.get(username="ada").pk, False, actor=SYSTEM)


def test_others_see_names_and_roles_only(reader, operator):
    User.objects.filter(username="ada").update(email="ada@example.org")
    reader.force_login(User.objects.get(username="eve"))
    page = reader.get(MEMBERS).content.decode()
    assert "Administrator" in page
    assert "ada@example.org" not in page
    assert "Add a person" not in page


def test_the_page_of_a_person_says_which_role_it_needs(reader):
    page = reader.get(f"{MEMBERS}1/")
    assert page.status_code == 403
    assert "the role <strong>administrator</strong>" in page.content.decode()
    assert "eve, viewer" in page.content.decode()


def test_a_page_looks_up_the_role_of_whoever_asks_once(client, grace):
    people.change(grace.pk, Role.OPERATOR, "", actor=SYSTEM)
    client.force_login(grace)
    with CaptureQueriesContext(connection) as asked:
        assert client.get("/").status_code == 200
    assert sum('"auth_group"' in statement["sql"] for statement in asked) == 1
