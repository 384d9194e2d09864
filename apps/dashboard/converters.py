"""Parts of addresses that people and programs name freely."""

from __future__ import annotations

from django.urls.converters import PathConverter


class Named(PathConverter):
    """The name of a project or host, as a sender wrote it: with slashes, even over several lines.

    Whatever is stored must have an address, or every page that links it would fail.
    """

    regex = r"[^\0]+"
