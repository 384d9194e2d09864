"""The sections of the settings, in their order, and where each of them is. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from apps.dashboard.places import Address


@dataclass(frozen=True, slots=True)
class Section:
    """page: the name of its route. about: a sentence that says what is set there."""

    slug: str
    word: str
    icon: str
    page: str
    about: str


SECTIONS: tuple[Section, ...] = (
    Section(
        "projects",
        "Projects",
        "folder",
        "settings_projects",
        "What runs belong to, what each project is for, and the pages of its own rules.",
    ),
    Section(
        "members",
        "Members and roles",
        "users",
        "members",
        "Who may sign in, and who may read, act or administer.",
    ),
    Section(
        "tokens",
        "Tokens",
        "key",
        "tokens",
        "Keys of programs: what each may do, when it was used last, when it ends.",
    ),
    Section(
        "names",
        "Metric names",
        "runs",
        "projects",
        "Which series is the loss, and which names are layers, project by project.",
    ),
    Section(
        "channels",
        "Alert channels",
        "bell",
        "alerts",
        "Mail, chats and pagers that rules send to.",
    ),
    Section(
        "retention",
        "Retention and kept logs",
        "clock",
        "settings_retention",
        "How long log lines, uploads and checkpoints stay.",
    ),
    Section(
        "storage",
        "Storage",
        "disk",
        "storage",
        "Folders and buckets that are looked at for checkpoints.",
    ),
    Section(
        "ingest",
        "Ingest",
        "inbox",
        "ingest",
        "What arrives, what waits, and bodies that could not be read.",
    ),
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A section as a page lists it."""

    slug: str
    word: str
    icon: str
    about: str
    url: str
    current: bool


def sections(path: str, address: Address) -> list[Listed]:
    """Sections that exist, for the page at `path`."""
    found = []
    for one in SECTIONS:
        url = address(one.page)
        if url is not None:
            here = url.startswith("/settings/") and path.startswith(url)
            found.append(Listed(one.slug, one.word, one.icon, one.about, url, here))
    return found
