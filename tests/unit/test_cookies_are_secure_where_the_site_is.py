"""The flags of the cookies follow PUBLIC_URL; the rest holds everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY")
SAY = (
    "import json; from config import settings\n"
    f"print(json.dumps([getattr(settings, name) for name in {NAMES}]))"
)


@pytest.mark.parametrize(
    ("url", "flags"),
    [
        ("https://lastgood.example", [True, True, True]),
        ("http://10.0.0.1:8000", [False, False, True]),
    ],
)
def test_cookies_go_over_tls_only_where_there_is_tls(url, flags, tmp_path):
    env = {**os.environ, "PUBLIC_URL": url, "LASTGOOD_HOME": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", SAY], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert json.loads(said.stdout) == flags
