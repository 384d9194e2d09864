"""axe-core on a page of the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

AXE = Path(__file__).parents[1] / "vendor" / "axe-core-4.14.1" / "axe.min.js"
RULES = [
    "wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice",
]  # fmt: skip
_FAULTS = """async ([part, type, values]) => {
  const { violations } = await axe.run(part, {
    runOnly: { type, values }, resultTypes: ["violations"], preload: false,
  });
  return violations.flatMap(({ id, impact, nodes }) => nodes.map(
    ({ target, any, all, none }) => `${id} (${impact}) at ${target}: `
      + [...any, ...all, ...none].map((one) => one.message).join("; ")));
}"""


def found_by_axe(page: Any, *rules: str, part: str = "html") -> Sequence[str]:
    """What axe-core finds on the page that is shown, or in a part of it; by all RULES or some."""
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(AXE.read_text())
    kind, values = ("rule", list(rules)) if rules else ("tag", RULES)
    found: Sequence[str] = page.evaluate(_FAULTS, [part, kind, values])
    return found
