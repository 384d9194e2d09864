"""`python -m workers.cli`; `make cli` makes it one file, `lastgood`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from workers.cli.logs import FOUND, NOTHING, TROUBLE, LogsAsk, show_logs
from workers.cli.server import Server, Trouble
from workers.cli.words import Style

URL = "http://127.0.0.1:8000"
INTERRUPTED = 130
EXAMPLES = """examples:
  lastgood logs gpt-7b                              the newest 200 lines
  lastgood logs gpt-7b --rank 5 --since 10m --follow
  lastgood logs gpt-7b --level error --all NCCL     every error that speaks of NCCL
  lastgood logs gpt-7b --from 2026-11-20T09:00:00Z --to 2026-11-20T09:05:00Z '/Xid.*(48|79)/'
  lastgood logs gpt-7b --json --all | jq -r 'select(.rank == 5) | .text'
exit status: 0 lines were found, 1 none was, 2 trouble (the reason is on stderr)
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    logs = argparse.ArgumentParser(
        prog="lastgood", description="Lastgood in a terminal: the log lines of a run.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    logs.add_argument("command", choices=("logs",), help="what to show")
    logs.add_argument("run", help="key of the run")
    logs.add_argument("query", nargs="*", help="words, /regex/, keys as in the query bar")
    logs.add_argument("--rank", metavar="0-7,64", help="only these ranks")
    logs.add_argument("--node", metavar="HOST,...", help="only these nodes")
    logs.add_argument("--level", help="this severe or worse: debug info warning error critical")
    logs.add_argument("--attempt", type=int, metavar="N", help="only this attempt")
    logs.add_argument("--since", metavar="10m", help="of the last ten minutes (30s, 1h30m, 2d)")
    logs.add_argument("--from", dest="from_", metavar="TIME", help="RFC 3339 or Unix time")
    logs.add_argument("--to", metavar="TIME", help="RFC 3339 or Unix time")
    logs.add_argument("-n", "--lines", type=int, default=None, help="the newest N lines (200)")
    logs.add_argument("--all", action="store_true", help="every line, oldest first")
    logs.add_argument("-f", "--follow", action="store_true", help="go on with new lines")
    logs.add_argument("--json", action="store_true", help="one JSON object a line")
    logs.add_argument("--server", default=os.environ.get("LASTGOOD_URL", URL), metavar="URL",
                      help="address (LASTGOOD_URL)")  # fmt: skip
    logs.add_argument("--token-file", metavar="FILE",
                      help="file with a token of the scope read (else LASTGOOD_TOKEN)")  # fmt: skip
    return logs


def _token(path: str | None) -> str:
    if path:
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, UnicodeError) as error:
            raise Trouble(f"the token cannot be read: {error}") from error
    token = os.environ.get("LASTGOOD_TOKEN", "")
    if not token:
        raise Trouble(
            "no token: set LASTGOOD_TOKEN or use --token-file",
            hint="an administrator makes one with: manage.py token NAME --scope read",
        )
    return token


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; its exit status."""
    # A reader that ends early, such as `head`, ends this too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    given = parser().parse_intermixed_args(argv)
    ask = LogsAsk(
        run=given.run,
        query=tuple(given.query),
        rank=given.rank,
        node=given.node,
        level=given.level,
        attempt=given.attempt,
        since=given.since,
        from_=given.from_,
        to=given.to,
        lines=given.lines,
        whole=given.all,
        follow=given.follow,
    )
    try:
        server = Server(given.server, _token(given.token_file))
        style = Style(
            json=given.json, colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        )
        found = show_logs(server, ask, style)
    except Trouble as error:
        print(f"lastgood: {error}", file=sys.stderr)  # noqa: T201
        return TROUBLE
    except KeyboardInterrupt:
        return INTERRUPTED
    return FOUND if found else NOTHING


if __name__ == "__main__":
    sys.exit(main())
