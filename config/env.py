"""Every environment variable Lastgood reads, in one table, with typed getters.

`docs/settings.md` and `.env.example` are written from this table (`make settings-docs`).
A secret may also come from a file: set NAME_FILE to its path. A wrong value stops the start.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit
from zoneinfo import available_timezones

from apps.core.errors import AppError
from apps.core.words import MAX_WHOLE, whole

MOST_DAYS = 36_500
"""Dates that lie further back are none."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable. kind: str, int, bool or one of "a|b|c"."""

    name: str
    kind: str
    default: str
    help: str
    secret: bool = False


TABLE: tuple[Setting, ...] = (
    Setting("LASTGOOD_HOME", "str", "var", "Folder of all state: databases, secrets, logs, spool."),
    Setting("DEBUG", "bool", "0", "Django debug pages. Never in production."),
    Setting("SECRET_KEY", "str", "", "Django's secret; made if unset.", True),
    Setting("ORDER_SIGNING_KEY", "str", "", "Key that signs rollback orders; made if unset.", True),
    Setting("ORDER_WEBHOOK_URL", "str", "", "Address told of each rollback order.", True),
    Setting("ORDER_WEBHOOK_SECRET", "str", "", "whsec_ and base64; signs what it is told.", True),
    Setting(
        "DATABASE_URL", "str", "", "Postgres 15-18. Unset: the embedded server of `make up`.", True
    ),
    Setting("REDIS_URL", "str", "", "Valkey/Redis 7.2+. Unset: the embedded server.", True),
    Setting("PORT", "int", "8000", "Port of web; the event stream takes PORT + 1."),
    Setting("LASTGOOD_BIND", "str", "127.0.0.1", "Address web and events listen on."),
    Setting("LASTGOOD_WEB_URL", "str", "", "Where this machine reaches web; set by `make up`."),
    Setting("LASTGOOD_EVENTS_URL", "str", "", "The same for events; set by `make up`."),
    Setting("PUBLIC_URL", "str", "", "How people reach the site; used in mails and orders."),
    Setting("EVENTS_URL", "str", "", "Public address of /events; unset: same host, PORT + 1."),
    Setting(
        "CLUSTER_ZONE",
        "str",
        "",
        "Time zone of the cluster (Europe/Berlin) for pages; unset: none.",
    ),
    Setting("ALLOWED_HOSTS", "str", "127.0.0.1,localhost,[::1]", "Host names the site answers to."),
    Setting("TRUSTED_PROXIES", "int", "0", "Proxies before web that append to X-Forwarded-For."),
    Setting("SESSION_DAYS", "int", "14", "Days from a sign-in to the next one; 0: ten years."),
    Setting("SESSION_IDLE_HOURS", "int", "72", "Hours without an open page to that; 0: any."),
    Setting(
        "OIDC_ISSUER",
        "str",
        "",
        "OpenID Connect provider that people sign in with: its issuer, https; unset: none.",
    ),
    Setting("OIDC_CLIENT_ID", "str", "", "How the provider calls Lastgood."),
    Setting("OIDC_CLIENT_SECRET", "str", "", "What the provider knows Lastgood by.", True),
    Setting("OIDC_NAME", "str", "single sign-on", "Its name on the sign-in page: Okta, Keycloak."),
    Setting(
        "OIDC_SCOPES", "str", "openid profile email", "What it is asked for; some need groups."
    ),
    Setting("OIDC_GROUPS_CLAIM", "str", "groups", "Claim with the groups of a person, or a path."),
    Setting(
        "OIDC_ADMIN_GROUPS",
        "str",
        "",
        "Groups whose members are administrators, comma-separated; *: everybody it lets through.",
    ),
    Setting("OIDC_OPERATOR_GROUPS", "str", "", "The same for operators."),
    Setting(
        "OIDC_VIEWER_GROUPS",
        "str",
        "",
        "The same for viewers. With any of the three, who is in none of them may not sign in.",
    ),
    Setting("OIDC_CREATE", "bool", "0", "Makes a person of whoever has such a group; 0: no."),
    Setting(
        "OIDC_TRUST_EMAIL",
        "bool",
        "0",
        "Takes mail addresses as verified where it does not say so (Entra ID with one tenant).",
    ),
    Setting("OIDC_PASSWORDS", "all|admins", "all", "Who may still sign in with a password."),
    Setting("INGEST_ACK", "always|everysec|commit", "always", "What an ingest answer waits for."),
    Setting("INGEST_MAX_BODY_BYTES", "int", "16777216", "Largest compressed ingest body."),
    Setting("INGEST_MAX_INFLATED_BYTES", "int", "67108864", "Largest body after inflating."),
    Setting("INGEST_MAX_RATIO", "int", "200", "Largest inflated/compressed ratio over 1 MiB."),
    Setting("INGEST_RATE_BYTES_S", "int", "104857600", "Bytes a second a token may send."),
    Setting("INGEST_RATE_REQUESTS_S", "int", "1000", "Requests a second a token may send."),
    Setting("INGEST_STREAM_MAX_BYTES", "int", "1073741824", "Unwritten bytes kept; beyond: 503."),
    Setting("KEEP_QUARANTINE_DAYS", "int", "30", "Days a quarantined body is kept; 0: for ever."),
    Setting("KEEP_UPLOADS_DAYS", "int", "365", "The same for files that W&B runs upload."),
    Setting("KEEP_LOGS_DAYS", "int", "0", "The same for log lines, where a project says nothing."),
    Setting("LOGS_PROJECT_BYTES", "int", "0", "Packed log bytes a project keeps; 0: any number."),
    Setting("LOGS_DISK_BYTES", "int", "0", "Most bytes of all logs; beyond: 429. 0: any number."),
    Setting(
        "LOGS_BUCKET", "str", "", "Bucket for log lines: NAME or NAME/PREFIX; unset: Postgres."
    ),
    Setting("LOGS_BUCKET_URL", "str", "", "Address of the S3-compatible server; unset: AWS."),
    Setting("LOGS_BUCKET_REGION", "str", "", "Its region; unset: AWS_REGION."),
    Setting("LOGS_BUCKET_KEY_ID", "str", "", "Access key; unset: AWS's usual ways.", True),
    Setting("LOGS_BUCKET_SECRET", "str", "", "The secret of LOGS_BUCKET_KEY_ID.", True),
    Setting(
        "CHECKPOINT_ROOTS",
        "str",
        "",
        "Folders under which checkpoints may be looked at, comma-separated: /mnt/ckpt, "
        "s3://bucket/prefix; unset: none.",
    ),
    Setting("CHECKPOINT_BUCKET_URL", "str", "", "S3-compatible server of s3:// roots; unset: AWS."),
    Setting("CHECKPOINT_BUCKET_REGION", "str", "", "Its region; unset: AWS_REGION."),
    Setting("CHECKPOINT_BUCKET_KEY_ID", "str", "", "Key that may list and read.", True),
    Setting("CHECKPOINT_BUCKET_SECRET", "str", "", "The secret of that key.", True),
    Setting("CHECKPOINT_SCAN_S", "int", "300", "Longest look at one root, in seconds."),
    Setting("CHECKPOINT_SCAN_MEMORY_BYTES", "int", "2147483648", "Most memory of one look."),
    Setting("CHECKPOINT_SCAN_BYTES_S", "int", "100000000", "Bytes a second a look reads; 0: any."),
    Setting("CHECKPOINT_HASH_BYTES_S", "int", "200000000", "Bytes a second a full hash reads."),
    Setting(
        "CHECKPOINT_DELETE_ROOTS",
        "str",
        "",
        "Folders under which the rules of retention may delete, as CHECKPOINT_ROOTS; unset: none.",
    ),
    Setting(
        "CHECKPOINT_DELETES_PER_HOUR", "int", "60", "Most checkpoints deleted an hour; 0: any."
    ),
    Setting("CHECKPOINT_DELETE_FILES_S", "int", "100", "Most files deleted a second; 0: any."),
    Setting("ALERT_RECIPIENTS", "str", "", "Comma-separated mail addresses of the on-call people."),
    Setting(
        "ALERT_TARGETS",
        "public|private|loopback|any",
        "private",
        "How near the servers of alert channels may be; any: link-local and metadata, too.",
    ),
    Setting(
        "ALERT_MAILS_PER_HOUR",
        "int",
        "20",
        "Most alert mails an hour to one person; the rest waits and comes together. 0: any number.",
    ),
    Setting("ALERT_REPLY_TO", "str", "", "Where answers to alert mails go; unset: to the sender."),
    Setting("ALERT_PROXY", "str", "", "HTTP proxy for alert channels: http://host:port.", True),
    Setting(
        "EMAIL_URL",
        "str",
        "",
        "smtp://user:password@host:port, or smtp+tls, smtps; unset: mails go to a file.",
        True,
    ),
    Setting("EMAIL_FROM", "str", "lastgood@localhost", "Sender of alert mails."),
    Setting("SMTP_TIMEOUT_S", "int", "20", "How long a mail server may take to answer."),
    Setting(
        "EVALUATION_PROGRAMS",
        "str",
        "",
        "Programs that evaluations may start: absolute paths, comma-separated; unset: none.",
    ),
    Setting(
        "EVALUATION_ENV",
        "str",
        "PATH,LANG,LD_LIBRARY_PATH,CUDA_VISIBLE_DEVICES,HF_HOME,HF_HUB_OFFLINE",
        "Environment variables that an evaluation gets of the evaluator's.",
    ),
    Setting(
        "LAUNCHER_TARGETS",
        "public|private|loopback|any",
        "private",
        "How near the API servers of launchers may be; any: link-local and metadata, too.",
    ),
    Setting(
        "SLURM_SCRIPTS",
        "str",
        "",
        "Comma-separated folders whose scripts may be submitted to Slurm; unset: none may.",
    ),
    Setting("NODE_SOURCES", "str", "", "File of exporters and clusters to ask; unset: none."),
    Setting(
        "NODE_TARGETS",
        "public|private|loopback|any",
        "private",
        "How near the servers that NODE_SOURCES names may be; any: link-local and metadata, too.",
    ),
    Setting("LOG_LEVEL", "DEBUG|INFO|WARNING|ERROR", "INFO", "How much the processes log."),
    Setting("SPEED", "str", "", "Replay speed of `make demo` as a multiple of recorded time."),
)
_BY_NAME = {setting.name: setting for setting in TABLE}
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def text(name: str) -> str:
    """The value of `name`, or its default; NAME_FILE wins for secrets."""
    setting = _BY_NAME[name]
    path = os.environ.get(f"{name}_FILE") if setting.secret else None
    if path:
        return _read(path, f"{name}_FILE")
    value = os.environ.get(name, "") or setting.default
    if "|" in setting.kind and value not in setting.kind.split("|"):
        raise AppError(
            f'"{value}" is not allowed',
            where=name,
            hint=f"use one of {setting.kind.replace('|', ', ')}",
        )
    return value


def _read(path: str, where: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(f"cannot read {path}: {error}", where=where) from error


def integer(name: str) -> int:
    """The value of `name` as a whole number from 0, of days one that a date can be moved by."""
    value, most = text(name), MOST_DAYS if name.endswith("_DAYS") else MAX_WHOLE
    found = whole(value, most)
    if found is None:
        hint = f"digits only, such as {_BY_NAME[name].default}, and at most {most}"
        raise AppError(f'"{value}" is not a whole number', where=name, hint=hint)
    return found


def boolean(name: str) -> bool:
    """The value of `name` as a switch: 1/0, true/false, yes/no, on/off."""
    value = text(name).lower()
    if value not in _TRUE | _FALSE:
        hint = "use 1, true, yes, on or 0, false, no, off"
        raise AppError(f'"{value}" is not a switch', where=name, hint=hint)
    return value in _TRUE


def address(name: str, schemes: Sequence[str]) -> SplitResult | None:
    """The value of `name` as scheme://user:password@host:port, None if unset."""
    value = text(name)
    if not value:
        return None
    parts = urlsplit(value)
    try:
        complete = parts.scheme in schemes and parts.hostname and (parts.port or True)
    except ValueError:
        complete = False
    if not complete:
        hint = f"{schemes[0]}://host:port; allowed are {', '.join(schemes)}"
        raise AppError("this is not an address", where=name, hint=hint)
    return parts


def zone(name: str) -> str:
    """The value of `name` as a name of the time zone database, "" if unset."""
    value = text(name)
    if value and value not in available_timezones():
        hint = "a name of the time zone database, such as Europe/Berlin or UTC"
        raise AppError(f'"{value}" is not a time zone', where=name, hint=hint)
    return value


def items(name: str) -> list[str]:
    """The value of `name` split at commas, blanks dropped."""
    return [part.strip() for part in text(name).split(",") if part.strip()]
