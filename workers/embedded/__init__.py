"""Postgres and Valkey from wheels, as children of whoever asks; no Django, no client library."""

from workers.embedded.postgres import Postgres
from workers.embedded.server import Server
from workers.embedded.valkey import Valkey

__all__ = ["Postgres", "Server", "Valkey"]
