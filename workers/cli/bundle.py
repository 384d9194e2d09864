"""`python -m workers.cli.bundle FILE`: the client as one executable file, for any machine with
Python 3.11 or newer and nothing else."""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipapp
from pathlib import Path

HERE = Path(__file__).resolve().parent
START = "import sys\nfrom workers.cli.__main__ import main\nsys.exit(main())\n"


def bundle(target: Path) -> None:
    """Writes the file; it replaces an older one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "workers", "cli")
        package.mkdir(parents=True)
        for path in (HERE.parent / "__init__.py", *sorted(HERE.glob("*.py"))):
            shutil.copy(path, Path(folder, path.relative_to(HERE.parents[1])))
        Path(folder, "__main__.py").write_text(START, encoding="utf-8")
        zipapp.create_archive(folder, target, interpreter="/usr/bin/env python3", compressed=True)


if __name__ == "__main__":
    bundle(Path(sys.argv[1] if len(sys.argv) > 1 else "dist/lastgood"))
