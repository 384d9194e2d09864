"""The real supervisor over real Postgres and Valkey, with quick stand-ins for the services.

    python -m tests.system.stub_supervisor

Each stand-in forks a grandchild that ignores SIGTERM, as a stuck pool process would.
"""

import asyncio
import os
import sys

from workers.supervisor import ChildSpec, plan, run, supervisor

_PARENT = """
import os, signal, sys, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: time.sleep(60)
{body}
print("stand-in is ready", flush=True)
while True: time.sleep(60)
"""


def _stand_in(name: str, body: str = "") -> ChildSpec:
    argv = (sys.executable, "-c", _PARENT.format(body=body), f"stand-in {name}")
    grace_s = float(os.environ.get("STUB_GRACE_S", "2"))
    return ChildSpec(name, argv, ready_line="stand-in is ready", grace_s=grace_s)


def _services(_: plan.Plan) -> list[ChildSpec]:
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    return [_stand_in("web", os.environ.get("STUB_WEB", "")), _stand_in("stubborn", stubborn)]


async def _login_link(self: object) -> str:
    await asyncio.sleep(0)
    return "http://127.0.0.1/login/stub"


if __name__ == "__main__":
    plan.migrate = lambda: ChildSpec("migrate", ("/bin/true",), once=True, restart=False)
    plan.services = _services
    supervisor._Supervisor._login_link = _login_link
    sys.exit(run(extra=[_stand_in("extra")], notes=["look at the curves"]))
