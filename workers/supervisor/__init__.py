"""One foreground command that runs all of Lastgood and leaves nothing behind; no Django."""

from workers.supervisor.spec import ChildSpec
from workers.supervisor.supervisor import run

__all__ = ["ChildSpec", "run"]
