"""`python -m workers.supervisor`: the same as `manage.py up`, a second quicker."""

import sys

from workers.supervisor import run

sys.exit(run())
