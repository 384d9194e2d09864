"""`python -m workers.cli`; `make cli` makes it one file, `lastgood`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from workers.cli.logs import FOUND, NOTHING, TROUBLE, LogsAsk, show_logs
from workers.cli.resume import FORMATS, ResumeAsk, show_resume_point
from workers.cli.server import Server, Trouble
from workers.cli.words import Style

URL = "http://127.0.0.1:8000"
INTERRUPTED = 130
COMMANDS = """commands:
  lastgood logs RUN            the log lines of a run
  lastgood resume-point RUN    where a start of a run begins: the rollback order, or the newest
                               good checkpoint
lastgood COMMAND --help says more."""
EXAMPLES = """examples:
  lastgood logs gpt-7b                              the newest 200 lines
  lastgood logs gpt-7b --rank 5 --since 10m --follow
  lastgood logs gpt-7b --level error --all NCCL     every error that speaks of NCCL
  lastgood logs gpt-7b --from 2026-11-20T09:00:00Z --to 2026-11-20T09:05:00Z '/Xid.*(48|79)/'
  lastgood logs gpt-7b --json --all | jq -r 'select(.rank == 5) | .text'
exit status: 0 lines were found, 1 none was, 2 trouble (the reason is on stderr)
"""
RESUME_EXAMPLES = """examples, in the script that starts the training:
  eval "$(lastgood resume-point gpt-7b --prepare --acknowledge "slurm-$SLURM_JOB_ID")"
  torchrun train.py $CKPT_START_ARGS
  lastgood resume-point gpt-7b --format path        the directory to load, empty: none
  lastgood resume-point gpt-7b --wait 3600 --format json
exit status: 0 there is an answer (also "start at the beginning"), 2 trouble: do not start
"""


def parser() -> argparse.ArgumentParser:
    """The command line of `lastgood logs`."""
    logs = argparse.ArgumentParser(
        prog="lastgood logs", description="The log lines of a run.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
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
    _add_server(logs)
    return logs


def resume_parser() -> argparse.ArgumentParser:
    """The command line of `lastgood resume-point`."""
    resume = argparse.ArgumentParser(
        prog="lastgood resume-point",
        description="Where a start of a run begins. The signature is checked before anything else.",
        epilog=RESUME_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    resume.add_argument("run", help="key of the run")
    resume.add_argument("--format", choices=FORMATS, default="env", help="env: lines for eval")
    resume.add_argument("--prepare", action="store_true",
                        help="make the branch directory; again changes nothing")  # fmt: skip
    resume.add_argument("--any-files", action="store_true",
                        help="do not compare the checkpoint with its inventory first")  # fmt: skip
    resume.add_argument("--acknowledge", metavar="LAUNCH", default="",
                        help="take the order on under this name (scope ingest)")  # fmt: skip
    resume.add_argument("--wait", type=float, default=0.0, metavar="SECONDS",
                        help="so long for an order, if none waits")  # fmt: skip
    resume.add_argument("--patience", type=float, default=60.0, metavar="SECONDS",
                        help="so long for a server that does not answer (60)")  # fmt: skip
    resume.add_argument("--file", default="", help="read this order file; no server is asked")
    resume.add_argument("--key-file", metavar="FILE",
                        help="key of the signature (else LASTGOOD_ORDER_KEY)")  # fmt: skip
    _add_server(resume)
    return resume


def _add_server(to: argparse.ArgumentParser) -> None:
    to.add_argument("--server", default=os.environ.get("LASTGOOD_URL", URL), metavar="URL",
                    help="address (LASTGOOD_URL)")  # fmt: skip
    to.add_argument("--token-file", metavar="FILE",
                    help="file with a token of the scope read (else LASTGOOD_TOKEN)")  # fmt: skip


def _secret(path: str | None, variable: str, missing: str, hint: str) -> str:
    """A secret out of a file, else out of the environment. Raises Trouble."""
    if path:
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, UnicodeError) as error:
            raise Trouble(f"{path} cannot be read: {error}") from error
    found = os.environ.get(variable, "")
    if not found:
        raise Trouble(missing, hint=hint)
    return found


def _server(given: argparse.Namespace) -> Server:
    token = _secret(
        given.token_file,
        "LASTGOOD_TOKEN",
        "no token: set LASTGOOD_TOKEN or use --token-file",
        "an administrator makes one with: manage.py token NAME --scope read",
    )
    return Server(given.server, token)


def _logs(words: Sequence[str]) -> int:
    given = parser().parse_intermixed_args(words)
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
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    found = show_logs(_server(given), ask, Style(json=given.json, colour=colour))
    return FOUND if found else NOTHING


def _resume_point(words: Sequence[str]) -> int:
    given = resume_parser().parse_args(words)
    key = _secret(
        given.key_file,
        "LASTGOOD_ORDER_KEY",
        "no key of the signature: set LASTGOOD_ORDER_KEY or use --key-file",
        "it is ORDER_SIGNING_KEY of the server, or its file secrets/order_signing_key",
    )
    ask = ResumeAsk(
        run=given.run,
        key=key,
        form=given.format,
        prepare=given.prepare,
        any_files=given.any_files,
        launch=given.acknowledge,
        wait_s=given.wait,
        patience_s=given.patience,
        file=given.file,
    )
    show_resume_point(None if given.file else _server(given), ask)
    return FOUND


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; its exit status."""
    # A reader that ends early, such as `head`, ends this too.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = sys.argv[1:] if argv is None else list(argv)
    command = {"logs": _logs, "resume-point": _resume_point}.get(words[0] if words else "")
    if command is None:
        asked = words[:1] in (["-h"], ["--help"])
        print(COMMANDS, file=sys.stdout if asked else sys.stderr)
        return FOUND if asked else TROUBLE
    try:
        return command(words[1:])
    except Trouble as error:
        print(f"lastgood: {error}", file=sys.stderr)  # noqa: T201
        return TROUBLE
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
