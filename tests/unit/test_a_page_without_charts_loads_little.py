"""static/js: what a page without charts may load stays within its budget, compressed."""

import gzip
from pathlib import Path

STATIC = Path(__file__).parents[2] / "static"
MOST_BYTES = 120 * 1024


def test_all_own_modules_and_htmx_together_are_within_the_budget():
    own = list((STATIC / "js").glob("*.js"))
    vendored = [p for p in (STATIC / "vendor").rglob("*.js") if "plotly" not in str(p)]
    assert own and vendored
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in (*own, *vendored)}
    assert sum(sizes.values()) <= MOST_BYTES, sizes
