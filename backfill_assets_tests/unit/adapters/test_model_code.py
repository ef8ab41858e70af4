"""Does a Python model run as its files said when they were read, and do Spark's workers get what it imports?"""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from backfill_assets.adapters.model_code import load_function
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Model
from backfill_assets.python_models.reads import build_reads

MODEL = """\
from backfill_assets import model
import _helper
from _helper import twice
from lib.more import deep

@model(start="2024-01-01", grain=["ds"])
def m(up, interval):
    from _late import late
    return lambda x: (twice(x), _helper.twice(x), deep(x), late(x))
"""
HELPER = "FACTOR = 2\nclass Kept:\n    factor = FACTOR\ndef twice(x):\n    return Kept.factor * x\n"
FILES = {
    "models/_helper.py": HELPER,
    "models/_late.py": "def late(x): return ('late', x)\n",
    "lib/more.py": "from lib.deeper import add\ndef deep(x): return add(x)\n",
    "lib/deeper.py": "def add(x): return x + 100\n",
}


def a_model(root: Path, files: dict[str, str], code: str = MODEL, name: str = "models/m.py") -> Model:
    for place, text in {**files, name: code}.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text)
    return Model(
        name="m", path=root / name, language="python", code=code, start=utc("2024-01-01"), grain=("ds",),
        files={**files, name: code},
    )  # fmt: skip


def run(model: Model, root: Path) -> Any:
    return load_function(model, root)(up=None, interval=None)


def test_workers_get_what_the_project_defines(tmp_path: Path) -> None:
    """Functions, classes, whole modules, packages without __init__.py, imports within functions: sent by value."""
    sent = cloudpickle.dumps(run(a_model(tmp_path, FILES), tmp_path))
    script = "import sys, pickle; from pyspark import cloudpickle; print(pickle.load(sys.stdin.buffer)(7))"
    done = subprocess.run([sys.executable, "-c", script], input=sent, capture_output=True, check=False, cwd="/")
    assert done.stdout.decode().strip() == "(14, 14, 107, ('late', 7))", done.stderr.decode()


def test_it_runs_what_was_read(tmp_path: Path) -> None:
    """A helper that was edited since is not what the version was named after; an edit that is read is run at once, also
    one of the same length in the same second."""
    model = a_model(tmp_path, FILES)
    other = HELPER.replace("= 2", "= 3")
    (tmp_path / "models/_helper.py").write_text(other)
    assert run(model, tmp_path)(1)[0] == 2
    assert run(a_model(tmp_path, FILES | {"models/_helper.py": other}), tmp_path)(1)[:2] == (3, 3)
    assert run(model, tmp_path)(1)[:2] == (2, 2)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "said",
    [
        'open("words.txt").read()',
        'Path("words.txt").read_text()',
        'str((Path("..") / "models" / "words.txt").read_text())',
        'Path("other.txt").with_name("words.txt").read_text()',
        'open(os.path.join("data", "root.txt")).read()',
        'Path(__file__).with_name("words.txt").read_text()',
        '(Path("x").parent.parent / "words.txt").read_text()',
        '(Path("x").resolve().parent / "data" / "root.txt").read_text()',
        'open(os.path.join(os.path.dirname(""), "words.txt"), "r").read()',
        'open("words.txt", mode="rb").read().decode()',
        '",".join(pandas.read_csv("data/root.txt").columns)',
    ],
)
def test_a_file_that_is_named_is_the_one_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """Not one of that name where the process was started: neither the model's, nor one that a helper reads."""
    (tmp_path / "models" / "lib").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere" / "data").mkdir(parents=True)
    for place in ("models/words.txt", "data/root.txt"):
        (tmp_path / place).write_text("counts")
    for place in ("words.txt", "other.txt", "elsewhere/words.txt", "elsewhere/data/root.txt", "models/other.txt"):
        (tmp_path / place).write_text("foreign")
    head = "import os\nimport pandas\nfrom pathlib import Path\n"
    files = {"models/_reading.py": f"{head}def read():\n    return {said}\nWORDS = read()\n"}
    given = f"[OWN, {said}, _reading.WORDS, _reading.read()]"
    code = f"{head}import _reading\nOWN = {said}\ndef m(up, interval): return {given}\n"
    model = a_model(tmp_path, files, code)
    modules = [(place, ast.parse(text)) for place, text in model.files.items()]
    (counts,) = build_reads(modules, tmp_path).files
    assert counts.read_text() == "counts"
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run(model, tmp_path) == ["counts"] * 4


def test_files_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    """Helpers of one name in two folders, in two projects, or of a module that somebody has imported already."""
    code = "from _helper import who\ndef m(interval): return who\n"
    one = a_model(tmp_path, {"models/a/_helper.py": "who = 'a'\n"}, code, "models/a/m.py")
    two = a_model(tmp_path, {"models/b/_helper.py": "who = 'b'\n"}, code, "models/b/m.py")
    other = a_model(tmp_path / "other", {"models/_helper.py": "who = 'other'\n"}, code)
    before = dict(sys.modules)
    calls = [load_function(one, tmp_path), load_function(two, tmp_path), load_function(other, tmp_path / "other")]
    assert [call(interval=None) for call in calls] == ["a", "b", "other"]
    assert "_helper" not in sys.modules and {n: sys.modules[n] for n in before} == before


def test_what_is_there_for_everybody_stays(tmp_path: Path) -> None:
    """A file named like a module of Python's, or like this package, takes no part in anybody's imports."""
    files = {"models/json.py": "x = 1\n", "models/backfill_assets/__init__.py": "x = 1\n"}
    code = "import json, backfill_assets\ndef m(interval): return json.dumps(1), backfill_assets.model\n"
    said, decorator = load_function(a_model(tmp_path, files, code), tmp_path)(interval=None)
    assert said == "1" and callable(decorator)


def test_annotations_are_what_the_file_says(tmp_path: Path) -> None:
    """`pandas_udf` tells by the types of its function what it is given: they are no texts unless the file says so."""
    code = "def m(interval):\n    def f(x: int) -> int: return x\n    return f\n"
    assert load_function(a_model(tmp_path, {}, code), tmp_path)(interval=None).__annotations__ == {
        "x": int,
        "return": int,
    }


def test_an_error_names_the_helper(tmp_path: Path) -> None:
    """A helper that cannot be imported says where."""
    model = a_model(tmp_path, {"models/_helper.py": "1 / 0\n"}, "import _helper\ndef m(interval): ...\n")
    with pytest.raises(ZeroDivisionError) as error:
        load_function(model, tmp_path)
    assert error.traceback[-1].path == tmp_path / "models/_helper.py"


LATE = """\
def m(interval):
    def f(x):
        import _late, json as j
        import _late as other
        from _late import late as said, here
        from lib import more
        from lib.more import deep
        from collections import Counter

        async def inner():
            from _late import cycle
            return cycle(x)

        try:
            inner().send(None)
        except StopIteration as done:
            last = done.value
        return (_late.late(x), other is _late, said(x), more.deep(x), deep(x), here(), len(Counter(j.dumps(x))), last)
    return f
"""
LATE_FILES = {
    "models/_late.py": """\
import _back
def late(x): return ('late', x)
def here():
    from _back import back
    return back()
def cycle(x): return _back.again(x)
""",
    "models/_back.py": """\
def back():
    from _late import late
    return late('back')
def again(x):
    import _late
    return _late.late(-x)
""",
    "lib/more.py": "def deep(x):\n    from lib.deeper import add\n    return add(x)\n",
    "lib/deeper.py": "def add(x): return x + 100\n",
}


def on_a_worker(function: Any, argument: int) -> tuple[str, str]:
    """What a process prints that has nothing of the project, or of this package."""
    script = (
        "import sys, pickle; sys.modules['backfill_assets'] = None; "
        f"print(pickle.load(sys.stdin.buffer)({argument}), [n for n in sys.modules if n[0] == '_' and 'late' in n])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=cloudpickle.dumps(function), capture_output=True, check=False, cwd="/"
    )
    return done.stdout.decode().strip(), done.stderr.decode()


def test_what_functions_import_as_they_run_is_sent(tmp_path: Path) -> None:
    """Modules, names, modules of packages, in functions of the model and of its helpers, which import each other: on
    workers as on the driver, by the texts that the model was read with, and as no module that others could meet."""
    model = a_model(tmp_path, LATE_FILES, LATE)
    wanted = "(('late', 7), True, ('late', 7), 107, 107, ('late', 'back'), 1, ('late', -7))"
    function = load_function(model, tmp_path)(interval=None)
    assert str(function(7)) == wanted
    assert on_a_worker(function, 7) == (f"{wanted} []", "")
    (tmp_path / "lib/deeper.py").write_text("def add(x): return 0\n")
    assert on_a_worker(function, 7) == (f"{wanted} []", "")
    assert "_late" not in sys.modules


def test_an_error_of_what_is_imported_late_names_its_line(tmp_path: Path) -> None:
    """Lines are those of the files."""
    files = LATE_FILES | {"lib/deeper.py": "def add(x):\n    raise ValueError(x)\n"}
    function = load_function(a_model(tmp_path, files, LATE), tmp_path)(interval=None)
    said = on_a_worker(function, 7)[1]
    assert f'File "{tmp_path}/lib/deeper.py", line 2, in add' in said and said.strip().endswith("ValueError: 7")
    assert f'File "{tmp_path}/lib/more.py", line 3, in deep' in said


def test_a_dotted_import_within_a_function_stays(tmp_path: Path) -> None:
    """`import lib.more` binds the package: it works where modules are found, as it did."""
    code = "def m(interval):\n    import lib.more\n    return lib.more.deep(1)\n"
    assert load_function(a_model(tmp_path, LATE_FILES, code), tmp_path)(interval=None) == 101


ONCE = {
    "lib/__init__.py": "",
    "lib/kinds.py": "import enum\nclass Kind(enum.Enum):\n    A = 1\n",
    "lib/rules.py": "RULES = []\ndef rule(f):\n    RULES.append(f)\n    return f\n",
    "lib/more_rules.py": "from lib.rules import rule\n@rule\ndef twice(x): return 2 * x\n",
}


def test_a_module_is_one_whenever_it_is_imported(tmp_path: Path) -> None:
    """At the top, in the function, in a helper, on a worker: members of an enum are equal, and registries fill."""
    code = (
        "from lib.kinds import Kind\nfrom lib.rules import RULES\n"
        "def seen(x, kind):\n    from lib.kinds import Kind\n    return kind is Kind.A and [r(x) for r in RULES]\n"
        "def m(interval):\n    import lib.more_rules\n    from lib import rules\n    assert rules.RULES is RULES\n"
        "    return lambda x: seen(x, Kind.A)\n"
    )
    model = load_function(a_model(tmp_path, ONCE, code), tmp_path)
    for _ in range(2):
        function = model(interval=None)
        assert function(7) == [14], "and the rule is there once"
        assert on_a_worker(function, 7) == ("[14] []", "")
    assert "lib.rules" not in sys.modules


def test_a_module_that_fails_is_not_half_there(tmp_path: Path) -> None:
    """It fails again, as in Python."""
    code = "def m(interval):\n    from lib import bad\n    return bad.x\n"
    model = load_function(a_model(tmp_path, {"lib/__init__.py": "", "lib/bad.py": "x = 1\n1 / 0\n"}, code), tmp_path)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            model(interval=None)


@pytest.mark.parametrize("over", [True, False])
def test_threads_of_two_models_have_their_own_modules(over: bool, tmp_path: Path) -> None:
    """Whether the other one is over, or has begun since: each finds the objects that it began with."""
    code = (
        "from lib.who import who\n"
        "def m(interval):\n    interval()\n    from lib import who as late\n    return who is late.who\n"
    )
    calls = [
        load_function(
            a_model(tmp_path / n, {"lib/__init__.py": "", "lib/who.py": f"who = [{n!r}]\n"}, code), tmp_path / n
        )
        for n in ("one", "two")
    ]
    first, second, third = threading.Event(), threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(calls[0], interval=lambda: (first.set(), second.wait(30)))
        assert first.wait(30)
        if over:
            assert pool.submit(calls[1], interval=lambda: None).result() is True
            second.set()
        else:
            two = pool.submit(calls[1], interval=lambda: (second.set(), third.wait(30)))
        assert one.result() is True
        third.set()
        assert over or two.result() is True


def test_folders_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    """A package without an __init__.py is whoever imported it first: a module of it is this project's all the same."""
    code = "def m(interval):\n    from lib import more\n    return lambda: more.who\n"
    for project in ("one", "two"):
        model = a_model(tmp_path / project, {"lib/more.py": f"who = {project!r}\n"}, code)
        function = load_function(model, tmp_path / project)(interval=None)
        assert function() == project
