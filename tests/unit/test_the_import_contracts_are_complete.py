"""Each models.py is guarded by an import contract."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_models_file_has_its_import_contract():
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    guarded = {m for c in linter["contracts"] for m in c.get("protected_modules", [])}
    models = {f"apps.{p.parent.name}.models" for p in ROOT.glob("apps/*/models.py")}
    assert models == guarded
