"""What a Python model reads while it is built is a part of its version, or its author is warned."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.snapshots.loader import load_project
from backfill_assets_tests.unit.snapshots.helpers import PYTHON, project

UNSEEN = {
    "open": ("open(interval)", "reads a file"),
    "path": ("from pathlib import Path\n    Path(str(raw)).read_text()", "reads a file"),
    "pandas": ("import pandas as pd\n    pd.read_csv(raw)", "reads a file"),
    "importlib": ("import importlib\n    importlib.import_module('lib')", "imports a module by name"),
    "import": ("__import__('lib')", "imports a module by name"),
    "sys_path": ("import sys\n    sys.path.append('x')", "where modules are looked for"),
    "exec": ("exec(raw)", "runs text as code"),
    "resources": ("from importlib import resources\n    resources.files('lib')", "reads files of a package"),
    "pkgutil": ("import pkgutil\n    pkgutil.get_data('lib', 'x')", "looks for modules"),
    "environment": ("import os\n    os.environ['X']", "environment"),
    "table": ("events.sparkSession.table('x')", "no upstreams"),
    "outside": ("open('/etc/hostname')", "reads a file"),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_version_does_not_see_is_a_warning(name: str, tmp_path: Path) -> None:
    """With the file and the line of it."""
    code, what = UNSEEN[name]
    text = PYTHON.replace("return events", f"{code}\n    return events")
    [warning] = load_project(project(tmp_path, p_py=text)).warnings["roi"]
    line = next(n for n, t in enumerate(text.splitlines(), 1) if t.strip() == code.splitlines()[-1].strip())
    assert what in warning.what and warning.place(tmp_path) == f"models/p.py:{line}"


@pytest.mark.parametrize(
    "code",
    [
        "open('data/rates.csv')",
        "from pathlib import Path\n    (Path(__file__).parent.parent / 'data' / 'rates.csv').read_text()",
        "import pandas\n    pandas.read_csv('data/rates.csv')",
    ],
)
def test_files_of_the_project_count(code: str, tmp_path: Path) -> None:
    """Another content is another version, without a warning; the same content is the same."""
    root = project(tmp_path, p_py=PYTHON.replace("return events", f"{code}\n    return events"))
    (root / "data").mkdir()
    (root / "data" / "rates.csv").write_bytes(b"a,\xff\n")
    before = load_project(root)
    assert before.warnings["roi"] == () and "data/rates.csv" in before.models["roi"].helpers
    (root / "data" / "rates.csv").write_bytes(b"b,2\n")
    assert load_project(root).fingerprints["roi"] != before.fingerprints["roi"]
    (root / "data" / "rates.csv").write_bytes(b"a,\xff\n")
    assert load_project(root) == before


def test_import_star_of_a_package(tmp_path: Path) -> None:
    """Modules that only `__all__` names are a part of the version."""
    opaque = PYTHON.replace("return events", "return events.limit(1 + N)")
    root = project(tmp_path, p_py="from lib import *\n" + opaque)
    (root / "lib").mkdir()
    (root / "lib" / "__init__.py").write_text("__all__ = ['inner']\n")
    (root / "lib" / "inner.py").write_text("N = 1\n")
    before = load_project(root).fingerprints
    (root / "lib" / "inner.py").write_text("N = 2\n")
    assert load_project(root).fingerprints != before


def test_docstrings_count_where_code_reads_them(tmp_path: Path) -> None:
    """They decide rows as soon as somebody mentions `__doc__`; else they are comments."""
    for mention, same in (("", True), ("roi.__doc__", False), ("getattr(roi, '__doc__')", False)):
        code = PYTHON.replace("return events", f"{mention}\n    return events.collect()")
        one = load_project(project(tmp_path, p_py=code)).fingerprints
        other = load_project(project(tmp_path, p_py=code.replace("Return on spend", "What came back"))).fingerprints
        assert (one == other) is same
