"""Every address of the site that changes something, with the lowest role it takes.

The table is compared with what the site does: a new POST, PUT or DELETE that is not in it fails
here, and so does one that forgets to ask who sends it.
"""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.urls import get_resolver

from tests.api.test_strangers_get_nowhere import routes

CHANGES = ("POST", "PUT", "PATCH", "DELETE")
ROLES = {
    "anybody": """
        POST /alerts/leave/<str:token>/
        POST /login/
        POST /login/oidc/
        PUT /login/
    """,
    "viewer": """
        POST /alerts/mine/
        POST /api/v1/alerts/rules/preview
        POST /api/v1/projects/<path:project>/label-rules/preview
        POST /api/v1/projects/<path:project>/rank-signals/preview
        POST /logout/
        POST /runs/<str:key>/pins/
        POST /views/
        POST /settings/password/
    """,
    "operator": """
        POST /alerts/channels/<int:number>/test/
        POST /alerts/deliveries/retry/
        POST /api/v1/alerts/channels/<id>/test
        POST /api/v1/alerts/deliveries/retry
        POST /api/v1/incidents/<id>/acknowledge
        POST /api/v1/incidents/<id>/assign
        POST /api/v1/incidents/<id>/mitigate
        POST /api/v1/incidents/<id>/notes
        POST /api/v1/incidents/<id>/resolve
        POST /api/v1/incidents/<id>/silence
        POST /api/v1/incidents/<id>/unsilence
        POST /api/v1/link-tests
        POST /api/v1/nodes/<path:name>/state
        POST /api/v1/nodes/racks
        POST /api/v1/projects/<path:project>/detectors/preview
        POST /api/v1/projects/<path:project>/fault-classes/try
        PUT /api/v1/projects/<path:project>/label-rules
        PUT /api/v1/projects/<path:project>/log-retention
        PUT /api/v1/projects/<path:project>/names
        PUT /api/v1/projects/<path:project>/rank-signals
        PUT /api/v1/runs/<key>/attempts/<attempt>/pin
        DELETE /api/v1/runs/<key>/checkpoints/<attempt>/<step>/hash
        POST /api/v1/runs/<key>/checkpoints/<attempt>/<step>/hash
        POST /api/v1/runs/<key>/checkpoints/<attempt>/<step>/marks
        DELETE /api/v1/runs/<key>/checkpoints/<attempt>/<step>/marks/<kind>
        POST /api/v1/runs/<key>/evaluations
        POST /api/v1/runs/<key>/evaluations/file
        POST /api/v1/runs/<key>/evaluations/jobs
        POST /api/v1/runs/<key>/evaluations/jobs/<number>/cancel
        POST /api/v1/runs/<key>/orders/<order>/hand-over
        POST /api/v1/runs/<key>/orders/<order>/hand-over/again
        POST /api/v1/runs/<key>/planned
        DELETE /api/v1/runs/<key>/planned/<number>
        PUT /api/v1/runs/<key>/retention
        POST /api/v1/runs/<key>/retention/<attempt>/<step>/keep
        POST /api/v1/runs/<key>/rollback
        POST /api/v1/runs/<key>/rollback/<order>/acknowledge
        POST /api/v1/runs/<key>/rollback/<order>/approve
        POST /api/v1/runs/<key>/rollback/<order>/cancel
        PUT /api/v1/runs/<key>/siblings
        POST /api/v1/runs/<key>/stop
        POST /api/v1/runs/<key>/stops/<number>/cancel
        POST /api/v1/storage/roots/<number>/look
        POST /incidents/<int:number>/acknowledge/
        POST /incidents/<int:number>/assign/
        POST /incidents/<int:number>/mitigate/
        POST /incidents/<int:number>/note/
        POST /incidents/<int:number>/resolve/
        POST /incidents/<int:number>/silence/
        POST /incidents/<int:number>/unsilence/
        POST /incidents/chosen/acknowledge/
        POST /incidents/chosen/silence/
        POST /incidents/chosen/unsilence/
        POST /ingest/labels/
        POST /links/
        POST /nodes/<named:name>/state/
        POST /projects/<named:project>/detectors/
        POST /projects/<named:project>/fault-classes/class/
        POST /projects/<named:project>/kept-logs/
        POST /projects/<named:project>/names/
        POST /projects/<named:project>/rank-signals/
        POST /runs/<str:key>/attempts/<int:attempt>/pin/
        POST /runs/<str:key>/checkpoints/<int:attempt>/<int:step>/hash/
        POST /runs/<str:key>/checkpoints/<int:attempt>/<int:step>/marks/
        POST /runs/<str:key>/evaluations/
        POST /runs/<str:key>/evaluations/<int:number>/cancel/
        POST /runs/<str:key>/orders/<int:number>/approve/
        POST /runs/<str:key>/orders/<int:number>/cancel/
        POST /runs/<str:key>/orders/<int:number>/hand-over/
        POST /runs/<str:key>/orders/<int:number>/hand-over/again/
        POST /runs/<str:key>/owner/
        POST /runs/<str:key>/planned/
        POST /runs/<str:key>/planned/<int:number>/remove/
        POST /runs/<str:key>/retention/
        POST /runs/<str:key>/retention/<int:attempt>/<int:step>/keep/
        POST /runs/<str:key>/rollback/
        POST /runs/<str:key>/siblings/
        POST /runs/<str:key>/stop/
        POST /runs/<str:key>/stops/<int:number>/cancel/
        POST /storage/<int:number>/look/
    """,
    "admin": """
        POST /alerts/channels/<int:number>/
        POST /alerts/channels/<int:number>/remove/
        POST /alerts/channels/new/
        POST /alerts/rules/<int:number>/
        POST /alerts/rules/<int:number>/remove/
        POST /alerts/rules/new/
        POST /api/v1/alerts/channels
        DELETE /api/v1/alerts/channels/<id>
        PUT /api/v1/alerts/channels/<id>
        POST /api/v1/alerts/rules
        DELETE /api/v1/alerts/rules/<id>
        PUT /api/v1/alerts/rules/<id>
        PUT /api/v1/projects/<path:project>/detectors
        PUT /api/v1/projects/<path:project>/fault-classes
        PUT /api/v1/projects/<path:project>/rollback-rules
        POST /api/v1/projects/<path:project>/suites
        DELETE /api/v1/projects/<path:project>/suites/<number>
        PUT /api/v1/projects/<path:project>/suites/<number>
        DELETE /api/v1/runs/<key>/launcher
        PUT /api/v1/runs/<key>/launcher
        POST /api/v1/storage/roots
        DELETE /api/v1/storage/roots/<number>
        PUT /api/v1/storage/roots/<number>
        POST /connect/token/
        POST /projects/<named:project>/evaluations/
        POST /projects/<named:project>/evaluations/<int:number>/remove/
        POST /projects/<named:project>/fault-classes/
        POST /projects/<named:project>/rollback/
        POST /runs/<str:key>/launcher/
        POST /runs/<str:key>/retention/<int:attempt>/<int:step>/again/
        POST /settings/members/
        POST /settings/projects/<named:project>/
        POST /settings/members/<int:number>/active/
        POST /settings/members/<int:number>/change/
        POST /settings/members/<int:number>/link/
        POST /settings/members/<int:number>/tokens/
        POST /settings/members/<int:number>/unlink/
        POST /settings/tokens/
        POST /settings/tokens/<int:number>/revoke/
        POST /storage/<int:number>/
        POST /storage/<int:number>/remove/
        POST /storage/new/
    """,
    "a token": """
        POST /api/v1/runs/<str:key>/launches
        POST /api/v1/runs/<str:key>/lines
        POST /api/v1/runs/<str:key>/metrics
        POST /api/v1/runs/<str:key>/mirror
        POST /api/v1/runs/<str:key>/packed
        POST /api/v1/runs/<str:key>/rows
        POST /api/v1/runs/<str:key>/tensorboard
        POST /api/v1/runs/<str:key>/wandb
        POST /files/<str:entity>/<str:project>/<str:key>/file_stream
        PUT /files/upload/<str:ticket>
        PUT /files/upload/manifest/<str:ticket>
        POST /graphql
        POST /loki/api/v1/label
        POST /loki/api/v1/label/<str:name>/values
        POST /loki/api/v1/labels
        POST /loki/api/v1/push
        POST /loki/api/v1/query
        POST /loki/api/v1/query_range
        POST /loki/api/v1/series
        POST /otlp/v1/logs
        POST /v1/logs
    """,
}
"""lowest role -> what it may send. A viewer: own mails, own pins, trials that change nothing.
"a token": doors for programs, closed for every session."""


def filled(route):
    """The address of a route: of the run "boom", which exists, and of numbers that nothing has."""
    return re.sub(r"<[\w:]+>", "boom", re.sub(r"<(int:\w+|id|number|order)>", "987654", route))


def refused(answer):
    """Sent away for who they are. What is wrong or not there is said after that."""
    to_login = answer.status_code == 302 and answer["Location"].startswith("/login/?next=")
    return answer.status_code in (401, 403) or to_login


@pytest.fixture
def people(client, incident):
    """role -> a browser in which somebody of that role is signed in, the lowest first."""
    eve, oscar = User.objects.create_user("eve"), User.objects.create_user("oscar")
    oscar.groups.add(Group.objects.create(name="operators"))
    users = {"viewer": eve, "operator": oscar, "admin": User.objects.create_superuser("ada")}
    browsers = {role: type(client)() for role in users}
    for role, user in users.items():
        browsers[role].force_login(user)
    return {"anybody": client, **browsers}


@pytest.fixture
def changes(people):
    """ "METHOD route" -> address, of all that the routes say they take; signing out comes last."""
    found = {}
    for route in sorted(routes(get_resolver().url_patterns), key=lambda r: ("logout" in r, r)):
        address = filled(route)
        allowed = people["admin"].generic("OPTIONS", address).headers.get("Allow", "").split(", ")
        found |= {f"{method} {route}": address for method in allowed if method in CHANGES}
    return found


def lowest(people, change, address):
    """The lowest role that is let through."""
    method = change.split()[0]
    through = (role for role, one in people.items() if not refused(one.generic(method, address)))
    return next(through, "a token")


def test_each_change_takes_the_lowest_role_of_the_table(people, changes):
    table = {
        line.strip(): role for role, text in ROLES.items() for line in text.strip().split("\n")
    }
    assert {change: lowest(people, change, address) for change, address in changes.items()} == table
