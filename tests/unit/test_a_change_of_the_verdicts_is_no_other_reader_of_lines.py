"""apps.logs.domain.parcel.reader: an agent's number changes with what packs lines, and not else."""

import subprocess
import sys

from apps.logs.domain.parcel.reader import reading_modules

LOADED = """
import sys
import apps.logs.domain.parcel.packing
print(*(sys.modules[name].__file__ for name in sys.modules if name.startswith("apps.logs.domain.")))
"""


def test_every_module_that_packing_loads_counts_and_no_other():
    asked = [sys.executable, "-c", LOADED]
    loaded = subprocess.run(asked, capture_output=True, check=True, text=True).stdout.split()
    counted = [str(path) for path in reading_modules()]
    assert counted == sorted(path for path in loaded if not path.endswith("__init__.py"))


def test_what_judges_failures_is_not_among_them():
    names = {f"{path.parent.name}/{path.name}" for path in reading_modules()}
    assert "triage/assemble.py" not in names
    assert {"reading/joblines.py", "chunk/chunks.py", "triage/classify.py"} <= names
