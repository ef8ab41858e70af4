"""Folders, links, variables, discovery, and the error that nobody expected: always a code, a place and a remedy."""

# ruff: noqa: E501 (tables)

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from backfill_assets_tests.unit.inputs.project import FILES, HEADER, QUERY, Told, assert_told, run, write


def _folder(root: Path, name: str) -> None:
    file = root / name
    file.unlink(missing_ok=True)
    file.mkdir(parents=True)


def _loop(root: Path, name: str) -> None:
    file = root / name
    file.unlink(missing_ok=True)
    file.symlink_to(file.name)


def _dangling(root: Path, name: str) -> None:
    file = root / name
    file.unlink(missing_ok=True)
    file.symlink_to("nowhere")


def _pipe(root: Path, name: str) -> None:
    file = root / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)


NAMES = ("backfill.yml", "sources.yml", "consumers.yml", "models/daily.sql", "models/py.py")
INSTEAD: list[tuple[str, Callable[[Path, str], None], str]] = [
    ("a folder", _folder, "this is a folder, not a file"),
    ("a link to itself", _loop, "the file cannot be read"),
    ("a link to nowhere", _dangling, "the file cannot be read"),
    ("a pipe", _pipe, "this is no regular file"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("put", "words"), [c[1:] for c in INSTEAD], ids=[c[0] for c in INSTEAD])
def test_no_file(tmp_path: Path, name: str, put: Callable[[Path, str], None], words: str) -> None:
    """Something else where a file should be; nothing waits for it, and no other file is blamed."""
    put(write(tmp_path), name)
    told = run("plan", project=tmp_path)
    assert_told(told, 1, f"{Path(name).name}: {words}", "fix: ", "1 problem in")


WRONG_NAMES: list[tuple[str, str]] = [
    ("sources.yaml", "rename it to sources.yml"),
    ("consumers.yaml", "rename it to consumers.yml"),
    ("backfill.yaml", "rename it to backfill.yml"),
    ("backfill.YML", "rename it to backfill.yml"),
    ("models/Orders.SQL", "rename it to Orders.sql"),
    ("models/orders.Py", "rename it to orders.py"),
    ("models/two words.sql", "`two words` cannot name a model"),
    ("models/1st.sql", "`1st` cannot name a model"),
    ("models/orders-daily.sql", "cannot name a model"),
    ("models/orders.daily.sql", "cannot name a model"),
    ("models/größe.sql", "cannot name a model"),
    ("models/.hidden.sql", "cannot name a model"),
    ("models/evidence.sql", "keeps its own records"),
    ("models/Evidence.sql", "keeps its own records"),
    ("models/DAILY.sql", "the name `daily` is taken"),
    ("models/deep/daily.sql", "the name `daily` is taken"),
    ("models/events.sql", "the name `events` is taken"),
    (f"models/{'m' * 200}.sql", "longer than 128"),
    (f"models/{'m' * 251}.sql", "longer than 128"),
]


@pytest.mark.parametrize(("name", "words"), WRONG_NAMES, ids=[c[0][:40] for c in WRONG_NAMES])
def test_names_of_files(tmp_path: Path, name: str, words: str) -> None:
    """Files that would silently not be read, and names that a model cannot have."""
    told = run("plan", project=write(tmp_path, {name: f"/*\n{HEADER}*/\n{QUERY}\n"}))
    assert_told(told, 1, words, "fix: ")


FOLDERS: list[tuple[str, dict[str, str | bytes | None], str, str]] = [
    ("no models", {"models/daily.sql": None}, "", "the project has no models"),
    ("models is a file", {"models/daily.sql": None, "models": "x"}, "", "`models` is a file, not a folder"),
    ("audits is a file", {"audits": "x", "models/daily.sql": f"/*\n{HEADER}audits: [{{sql: a}}]\n*/\n{QUERY}\n"}, "daily.sql:4", "no file"),
    ("a warehouse that is a file", {"backfill.yml": "warehouse: taken\n", "taken": "x"}, "backfill.yml", "is a file"),
    ("a warehouse at no address", {"backfill.yml": "warehouse: 'c#/w'\n"}, "", "signs of an address"),
    ("a warehouse in an escape", {"backfill.yml": "warehouse: feature%2Fx\n"}, "", "signs of an address"),
    ("a warehouse below a file", {"backfill.yml": "warehouse: taken/w\n", "taken": "x"}, "backfill.yml", "is a file"),
    ("models in a circle", {"models/a.sql": f"/*\n{HEADER}*/\n{QUERY.replace('events', 'b')}", "models/b.sql": f"/*\n{HEADER}*/\n{QUERY.replace('events', 'a')}"}, "a.sql:5", "a reads b reads a"),
    ("an audit in a circle", {"models/b.sql": f"/*\n{HEADER}*/\n{QUERY.replace('events', 'daily')}", "models/daily.sql": f"/*\n{HEADER}audits: [{{relationships: {{columns: kind, to: b}}}}]\n*/\n{QUERY}"}, "daily.sql:4", "is built after"),
    ("an audit's file is a folder", {"audits/a.sql/x": "", "models/daily.sql": f"/*\n{HEADER}audits: [{{sql: a}}]\n*/\n{QUERY}\n"}, "daily.sql:4", "no file"),
    ("an audit's file is Latin-1", {"audits/a.sql": b"SELECT\n '\xe9' FROM daily", "models/daily.sql": f"/*\n{HEADER}audits: [{{sql: a}}]\n*/\n{QUERY}\n"}, "a.sql:2", "no UTF-8"),
    ("an audit's file is deep", {"audits/a.sql": "\nSELECT " + "(" * 2000 + "1" + ")" * 2000, "models/daily.sql": f"/*\n{HEADER}audits: [{{sql: a}}]\n*/\n{QUERY}\n"}, "a.sql:2", "nested too deeply"),
    ("an audit's file is empty", {"audits/a.sql": "\n", "models/daily.sql": f"/*\n{HEADER}audits: [{{sql: a}}]\n*/\n{QUERY}\n"}, "a.sql:", "one query"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "place", "words"), [c[1:] for c in FOLDERS], ids=[c[0] for c in FOLDERS])
def test_folders(tmp_path: Path, changes: dict[str, str | bytes | None], place: str, words: str) -> None:
    """What is missing, or is something else."""
    told = run("plan", project=write(tmp_path, changes))
    assert_told(told, 1, place, words, "fix: ")


COMMANDS = ("plan", "status", "plans", "releases", "watch", "consumers", "janitor", "doctor")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_all_problems(tmp_path: Path, command: str) -> None:
    """Three mistakes in three files, in one go."""
    root = write(
        tmp_path,
        {
            "backfill.yml": "batch_size: 0\n",
            "sources.yml": FILES["sources.yml"].replace("bigint", "nubmer"),
            "models/daily.sql": f"/*\n{HEADER}onwer: ana\n*/\n{QUERY}",
        },
    )
    told = run(command, project=root)
    assert_told(told, 1, "backfill.yml:1: ", "sources.yml:6: ", "daily.sql:4: ", "fix: ")


VARIABLES: list[tuple[str, dict[str, str], int, str]] = [
    ("no such project", {"BACKFILL_PROJECT": "/nowhere/at/all"}, 1, "the folder does not exist"),
    ("a project that is a file", {"BACKFILL_PROJECT": __file__}, 1, "it is a file, not a folder"),
    ("a project of nobody", {"BACKFILL_PROJECT": "~nobody-is-called-this/x"}, 1, "no project at"),
    ("a long project", {"BACKFILL_PROJECT": "/" + "x" * 5000}, 1, "no project at"),
    ("a warehouse of no scheme", {"BACKFILL_WAREHOUSE": "htp://x/y"}, 1, "BACKFILL_WAREHOUSE is 'htp://x/y'"),
    ("a warehouse of blanks", {"BACKFILL_WAREHOUSE": "  "}, 1, "it is empty"),
    ("a warehouse that is a file", {"BACKFILL_WAREHOUSE": __file__}, 1, "correct BACKFILL_WAREHOUSE"),
    ("a warehouse below a file", {"BACKFILL_WAREHOUSE": f"{__file__}/w"}, 1, "correct BACKFILL_WAREHOUSE"),
    ("a warehouse of nobody", {"BACKFILL_WAREHOUSE": "~nobody-is-called-this/w"}, 1, "no such user's home"),
    ("a cache that is a file", {"BACKFILL_CACHE": __file__}, 0, "Plan "),
    ("a cache nowhere", {"BACKFILL_CACHE": "/proc/nowhere"}, 0, "Plan "),
]


@pytest.mark.parametrize(("env", "code", "words"), [c[1:] for c in VARIABLES], ids=[c[0] for c in VARIABLES])
def test_variables(tmp_path: Path, env: dict[str, str], code: int, words: str) -> None:
    """Environment variables that lead nowhere; a cache is only ever a convenience."""
    told = run("plan", **{"project": write(tmp_path), **env} if "BACKFILL_PROJECT" not in env else env)
    assert_told(told, code, words)
    assert code == 0 or "fix: " in told.err


def test_the_project_is_found_from_below(tmp_path: Path) -> None:
    """As git finds a repository; its folder is the first line, and output for machines stays clean."""
    root = write(tmp_path / "shop")
    below = root / "models" / "deep"
    below.mkdir()
    for place in (root, root / "models", below):
        told = run("plan", "--json", cwd=place)
        assert told.code == 0 and told.out.startswith("{"), told
        assert told.err.splitlines()[0] == f"project: {root}"


def test_the_nearest_project_counts(tmp_path: Path) -> None:
    """One in a folder of another is its own; what is named wins over both."""
    outer, inner = write(tmp_path / "outer"), write(tmp_path / "outer" / "models" / "inner")
    assert run("plans", cwd=inner / "models").err.splitlines()[0] == f"project: {inner}"
    assert run("--project", str(outer), "plans", cwd=inner).err.splitlines()[0] == f"project: {outer}"
    assert run("plans", project=outer, cwd=inner).err.splitlines()[0] == f"project: {outer}"


def test_without_a_project_it_is_the_demo(tmp_path: Path) -> None:
    """Which is said."""
    assert run("plans", cwd=tmp_path).err.splitlines()[0] == "project: the embedded demo"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_the_project_of_somebody_else_is_not_found(tmp_path: Path) -> None:
    """A project is code: one that another user put above the working folder must be named."""
    root = write(tmp_path / "shared")
    os.chown(root / "backfill.yml", 4711, 4711)
    below = root / "mine"
    below.mkdir()
    assert_told(run("plans", cwd=below), 1, "belongs to somebody else", f"--project {root}")
    assert run("plans", project=root, cwd=below).code == 0


def _breaking(error: BaseException, root: Path, *arguments: str) -> Told:
    def broken(*_: object, **__: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backfill_assets.app.context.Context.open", broken)
        patch.delenv("BACKFILL_CACHE", raising=False)
        return run("plans", *arguments, project=root)


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError("division"), RecursionError(), UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "no"), OSError(28, "full"),
     MemoryError(), KeyError("x"), ValueError("token=abc\nsecond line")],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_an_error_that_nobody_expected(tmp_path: Path, error: Exception) -> None:
    """A short message, code 70, and a report for nobody else's eyes: traceback and versions, no secrets."""
    told = _breaking(error, write(tmp_path))
    assert told.code == 70 and "Traceback" not in told.err and "fix: " in told.err, told
    assert type(error).__name__ in told.err and "abc" not in told.err
    [report] = (tmp_path / ".backfill" / "crashes").iterdir()
    assert str(report) in told.err
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    text = report.read_text()
    assert "Traceback" in text and "python: " in text and "command: " in text and "abc" not in text


def test_the_report_says_no_secret_of_the_command_line(tmp_path: Path) -> None:
    """Values of what is named like a secret are left out, wherever they stand."""
    from backfill_assets.crash_report import write_report

    arguments = ["backfill", "--api-token", "t0p", "sql", "SELECT 1 -- password=hunter2", "s3://me:pw1@bucket/x"]
    report = write_report(ValueError("fs.s3a.secret.key: s3cr3t"), arguments, tmp_path)
    assert report is not None
    text = report.read_text()
    assert not any(secret in text for secret in ("t0p", "hunter2", "pw1", "s3cr3t")), text


def test_where_no_report_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is told all the same."""
    from backfill_assets import crash_report

    monkeypatch.setattr(crash_report.tempfile, "gettempdir", lambda: "/proc/nowhere")
    root = write(tmp_path, {".backfill": "a file"})
    told = _breaking(ZeroDivisionError(), root)
    assert told.code == 70 and "no report could be written" in told.err


def test_a_query_that_is_no_text(tmp_path: Path) -> None:
    """On standard input."""
    told = run("sql", "-", project=write(tmp_path), stdin=b"SELECT '\xe9'")
    assert_told(told, 2, "standard input is no UTF-8", "fix: ")
