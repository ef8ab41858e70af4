"""Is what the package imports declared, and what is declared used?"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_IMPORTED = {
    "dagster-webserver": "`backfill ui` starts it",
    "delta-spark": "its version names the jars that sessions load",
    "pandas": "PySpark wants it for Arrow, and does not require it",
}
"""Declared for a reason that no import shows."""
EXTRAS = {"boto3": ("s3", "boto3"), "botocore": ("s3", "boto3"), "grpcio": ("connect", "pyspark[connect]")}
"""Imported only by who has the extra, which declares what brings it."""
PARTS = {"py4j": "pyspark", "dagster-shared": "dagster", "arro3-core": "deltalake", "markupsafe": "jinja2"}
"""Imported as the part of a declared one that its own values come from: whoever declares that pins this."""


def test_what_is_declared_is_what_is_imported() -> None:
    """Each import of another distribution is declared in pyproject.toml, and nothing is declared for nothing."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = {re.split(r"[<>=\[]", line)[0] for line in declared} - set(NOT_IMPORTED)
    known = packages_distributions()
    used: dict[str, set[str]] = {}
    for file in sorted((ROOT / "backfill_assets").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for top in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"backfill_assets"}:
                for distribution in known.get(top, [top]):
                    used.setdefault(distribution.lower().replace("_", "-"), set()).add(file.name)
    for part, whole in PARTS.items():
        assert whole in wanted and any(re.match(rf"{part}\b", r, re.IGNORECASE) for r in requires(whole) or ()), part
        assert used.pop(part), f"{part} is imported no more"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, (extra, by) in EXTRAS.items():
        assert used.pop(name) and any(line.startswith(by) for line in extras[extra]), name
    undeclared = {name: files for name, files in used.items() if name not in wanted}
    assert not undeclared and wanted == set(used), (undeclared, wanted - set(used))
