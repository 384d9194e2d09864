"""`python -m workers.demo`: the same as `manage.py demo`, a second quicker."""

import os
import sys

from apps.core.errors import AppError
from workers.demo.show import show, speed_of

if __name__ == "__main__":
    try:
        speed = speed_of(os.environ.get("SPEED") or "1")
    except AppError as error:
        sys.exit(str(error))
    sys.exit(show(speed))
