"""What a Python model reads while it is built is a part of its version, or its author is warned."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import PYTHON, project

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
    "a patch": (
        "from pyspark.sql import functions as F\n    F.round = F.bround",
        "`pyspark.sql.functions.round` is changed",
    ),
    "a patched class": ("from pyspark.sql import DataFrame\n    del DataFrame.show", "DataFrame.show` is changed"),
    "outside": ("open('/etc/hostname')", "reads a file"),
    "handed on": ("o = open", "`open` may read anything"),
    "partial": ("from functools import partial\n    partial(open, 'x')", "`open` may read anything"),
    "builtins": ("import builtins\n    builtins.open('x')", "`builtins.open` can read"),
    "getattr": ("import builtins\n    getattr(builtins, 'op' + 'en')", "`getattr(builtins, …)`"),
    "a file's number": ("import os\n    os.open('x', 0)", "`os.open` can read"),
    "raw": ("import io\n    io.FileIO('x')", "`io.FileIO` can read"),
    "os by another name": ("import os\n    e = os", "`os` can read"),
    "os.environ": ("from os import environ\n    environ['X']", "reads a variable of the environment"),
    "the size of a file": ("import os\n    os.path.getsize('x')", "`os.path.getsize` can read"),
    "files of a folder": ("from pathlib import Path\n    Path('x').iterdir()", "looks at files"),
    "whether there is a file": ("from pathlib import Path\n    Path('x').exists()", "looks at files"),
    "a module of Python": ("import sqlite3", "`sqlite3` can read"),
    "a part of one": ("from multiprocessing import shared_memory", "`multiprocessing` can read"),
    "a library that reads": ("import boto3", "`boto3` can read"),
    "a loader": ("from importlib import machinery\n    machinery.SourceFileLoader('a', 'b')", "`importlib.machinery"),
    "arguments": ("import sys\n    sys.argv", "`sys.argv` can read"),
    "places by name": ("from sys import path\n    path.append('x')", "where modules are looked for"),
    "pandas by another name": ("import pandas as pd\n    r = pd.read_json", "`pandas.read_json` reads a file"),
    "session by name": ("getattr(raw, 'sparkSession')", "no upstreams"),
    "session behind the scenes": ("raw._jdf", "no upstreams"),
    "context": ("raw.rdd.context", "no upstreams"),
    "hash": ("hash('a')", "in each process"),
    "the order of a set": ("for name in {'a', 'b'}: print(name)", "the order of a set"),
    "a set that has a name": ("names = set(raw.columns)\n    list(names)", "the order of a set"),
    "a set that is unpacked": ("raw.drop(*({'a', 'b'} - {'c'}))", "the order of a set"),
    "a loop in a list": ("[n for n in {n for n in raw.columns}]", "the order of a set"),
    "one of a set": ("{'a', 'b'}.pop()", "the order of a set"),
    "joined": ("','.join({'a', 'b'})", "the order of a set"),
    "its own code": ("roi.__code__", "looks into the code itself"),
}
HARMLESS = [
    "import os\n    os.path.join('a', os.path.basename('b'))",
    "import io, json, re, math, itertools, functools\n    json.dumps(io.StringIO('x').getvalue())",
    "import sys\n    sys.maxsize",
    "import numpy, pandas\n    pandas.DataFrame({'a': numpy.arange(3)})",
    "from pyspark.sql import functions as F\n    F.exists('a', lambda x: x > 1)",
    "def hash(x):\n        return x\n    hash(1)",
    "compile = [1]\n    compile[0]",
    "getattr(raw, 'channel')",
    "class P:\n        x = 1\n    P.x = 2",
    "names = {'a', 'b'}\n    'a' in names and sorted(names) and len(names | {'c'})",
    "[n for n in raw.columns if n not in {'a', 'b'}]",
    "sum(len(n) for n in {'a', 'b'})",
    "for n in {1, 2}:\n        print(n)",
    "raw.channel.isin({'a', 'b'})",
]


@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_version_does_not_see_is_a_warning(name: str, tmp_path: Path) -> None:
    """With the file and the line of it."""
    code, what = UNSEEN[name]
    text = PYTHON.replace("return events", f"{code}\n    return events")
    [warning] = load_project(project(tmp_path, p_py=text)).warnings["roi"]
    line = next(n for n, t in enumerate(text.splitlines(), 1) if t.strip() == code.splitlines()[-1].strip())
    assert what in warning.what and warning.place(tmp_path) == f"models/p.py:{line}"


def test_what_reads_nothing_is_no_warning(tmp_path: Path) -> None:
    """Modules and functions that compute, and names that are the author's own."""
    models = {
        f"m{n}_py": PYTHON.replace("def roi(", f"def m{n}(").replace("return events", f"{c}\n    return events")
        for n, c in enumerate(HARMLESS)
    }
    found = load_project(project(tmp_path, **models)).warnings
    assert {name: [w.what for w in found[name]] for name in found if found[name]} == {}


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


SEVERAL = """\
import os

from backfill_assets import model


@model(owner="ana@example.com", start="2024-01-01", grain=["ds"], columns={"ds": "The day."})
def looks(events, interval):
    return events.where(os.environ["X"])


@model(owner="ana@example.com", start="2024-01-01", grain=["ds"], columns={"ds": "The day."})
def calls(events, interval):
    return looks(events, interval)


@model(owner="ana@example.com", start="2024-01-01", grain=["ds"], columns={"ds": "The day."})
def plain(looks, interval):
    return looks
"""


def test_each_model_of_a_file_is_warned_of_its_own(tmp_path: Path) -> None:
    """And of what it calls; what all of them run is told of all."""
    found = load_project(project(tmp_path, several_py=SEVERAL)).warnings
    assert {name: [w.line for w in found[name]] for name in ("looks", "calls", "plain")} == {
        "looks": [8],
        "calls": [8],
        "plain": [],
    }
    for_all = SEVERAL.replace("import model\n", 'import model\n\nHERE = os.environ["X"]\n')
    found = load_project(project(tmp_path, several_py=for_all)).warnings
    assert [len(found[name]) for name in ("looks", "calls", "plain")] == [2, 2, 1]


@pytest.mark.parametrize(
    "handed_on",
    ["try:\n    again = looks\nexcept NameError:\n    pass\n", "ALL = [looks]\n", "def help():\n    return looks\n"],
)
def test_what_others_may_call_is_told_of_all(tmp_path: Path, handed_on: str) -> None:
    """Where the file mentions a model's function elsewhere, nobody follows to whom it goes; nor what it writes."""
    found = load_project(project(tmp_path, several_py=SEVERAL + "\n\n" + handed_on)).warnings
    assert [w.line for w in found["plain"]] == [8]
    writes = SEVERAL.replace("    return events.where(", "    global X\n    X = 1\n    return events.where(")
    found = load_project(project(tmp_path, several_py=writes)).warnings
    assert [w.line for w in found["plain"]] == [10]
