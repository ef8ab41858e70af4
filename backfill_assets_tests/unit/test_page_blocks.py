"""Is what the pages show in fenced blocks true? Each is read by what a reader would hand it to.

Most pages are played as well, command by command: `pages.PLAYED` says where.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import typer
from dagster._core.instance.config import dagster_instance_config
from dagster._core.workspace.config_schema import process_workspace_config

import backfill_assets
from backfill_assets.cli.app import app
from backfill_assets.components import BackfillProjectComponent
from backfill_assets.core.errors import BackfillError, Problem
from backfill_assets.core.settings import Settings
from backfill_assets.files.documents import read_yaml
from backfill_assets.files.untrusted import UNTRUSTED
from backfill_assets.plan.options import check_options
from backfill_assets.project.consumers import read_consumers
from backfill_assets.project.header import Header
from backfill_assets.project.python_files import read_python_models
from backfill_assets.project.settings import EMBEDDED_PROJECT
from backfill_assets.project.settings_file import parse_settings
from backfill_assets.project.sources import read_sources
from backfill_assets.project.sql_files import read_sql_model
from backfill_assets.sql.parsing import SqlError, parse
from backfill_assets_tests.pages import NOT_PLAYED, PLAYED, Block, blocks, commands, pages
from backfill_assets_tests.projects import CHECKOUT, backfill_here
from backfill_assets_tests.tutorial import edited
from backfill_assets_tests.unit.importing.foreign import dbt_model, manifest, sqlmesh_model, sqlmesh_project

SHELLS = ("bash", "console")
OTHERS = ("text", "csv", "diff", "dockerfile", "mermaid", "nginx", "pyi")
"""Languages of blocks that say nothing of what is checked here; `pyi` is generated, and compiled."""
ALL = list(blocks())
ROOT: Any = typer.main.get_command(app)
OWN_KEYS = set(Settings.__dataclass_fields__)
OF_KUBERNETES = {"apiVersion", "kind", "metadata", "spec", "items"}
_INLINE = re.compile(r"(?<!`)`backfill ((?:--untrusted |--project \S+ )*[a-z][^`]*)`(?!`)")


def of(*languages: str) -> list[Block]:
    """The blocks in these languages."""
    return [block for block in ALL if block.language in languages]


def wrong(found: list[Block], check: Callable[[Block], Iterator[str]]) -> list[str]:
    """What a check says of blocks, each with its page and line."""
    return [f"{block.where}: {said}" for block in found for said in check(block)]


def test_each_block_says_what_it_is() -> None:
    """A language that is checked, or one that is none; what a terminal shows is no `text`."""
    assert len(ALL) > 100 and len(pages()) > 90
    known = {*SHELLS, *OTHERS, "yaml", "sql", "python"}
    assert [f"{block.where}: {block.language}" for block in ALL if block.language not in known] == []
    assert [block.where for block in of("console") if not block.text.startswith("$ ")] == []
    assert [block.where for block in of("text") if re.search(r"^(?:\$ |backfill [a-z])", block.text, re.M)] == []
    scripts = "\n".join(block.text for block in of("bash"))
    assert subprocess.run(["bash", "-n"], input=scripts, text=True, check=False, capture_output=True).stderr == ""


def test_every_command_can_be_given_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `backfill …` of a block: the command, its options together, their values. Modules that Python runs exist."""
    monkeypatch.delenv("BACKFILL_PROJECT", raising=False)
    monkeypatch.delenv(UNTRUSTED, raising=False)
    shown = [command for block in of(*SHELLS) for command in commands(block) if command[0].endswith("backfill")]
    assert len(shown) > 150
    assert wrong(of(*SHELLS), misused) == []


def test_every_page_is_played_or_it_is_said_why_not() -> None:
    """A page that gets commands is to be played, too."""
    there = {block.where.partition(":")[0] for block in of(*SHELLS) if list(commands(block))}
    assert there == PLAYED.keys() | NOT_PLAYED.keys() and not PLAYED.keys() & NOT_PLAYED.keys()
    for page, test in PLAYED.items():
        text = (CHECKOUT / "backfill_assets_tests" / test).read_text()
        assert Path(page).stem in text or Path(page).parent.name in text, f"{test} does not name {page}"
    assert [name for name, _ in NOT_PLAYED.values() if not (CHECKOUT / "backfill_assets_tests" / name).is_file()] == []


def test_what_others_have_is_imported_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of docs/coming_from.md, beside projects of SQLMesh and dbt."""
    query = "SELECT id, day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"
    theirs = sqlmesh_project(tmp_path / "their-project", {"models/m.sql": sqlmesh_model(query)})
    microbatch = {"incremental_strategy": "microbatch", "event_time": "day", "batch_size": "day", "begin": "2024-01-01"}
    code = "SELECT id, day FROM {{ source('raw', 'orders') }}"
    manifest(theirs / "target", [dbt_model("n", code, microbatch, ["source.shop.raw.orders"])])
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    shown = [c for b in of(*SHELLS) if b.where.startswith("docs/coming_from.md") for c in commands(b)]
    assert len(shown) == 2
    for words, model in zip(shown, ("m", "n"), strict=True):
        mine = here / "mine"
        shutil.rmtree(mine, ignore_errors=True)
        mine.mkdir()
        assert words[:3] == ["backfill", "--project", "mine"]
        said = backfill_here(*words[3:], project=mine)
        assert said.code == 0 and (mine / "models" / f"{model}.sql").is_file(), said


def test_commands_in_sentences_exist() -> None:
    """Each `backfill …` between backticks: the command, and every option that is written with it."""
    seen, found = 0, list[str]()
    known = {name: options(command) for name, command in ROOT.commands.items()}
    for page in [page for page in pages() if page.name != "CHANGELOG.md"]:
        for said in _INLINE.findall(page.read_text()):
            seen += 1
            words = re.sub(r"^--project \S+ ", "", said).split()
            name = next((word for word in words if not word.startswith("-")), "")
            given = {word.partition("=")[0] for word in words if re.match(r"--\w", word)}
            if name not in known or given - known[name] - options(ROOT, inner=False):
                found.append(f"{page.relative_to(CHECKOUT)}: backfill {said}")
    assert seen > 100 and found == []


@pytest.mark.filterwarnings("ignore")  # what Dagster says about its own
def test_every_yaml_is_valid_where_it_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, sources, consumers, headers by our readers; Dagster's files and the component by Dagster's. Of
    Kubernetes' manifests, the first keys only."""
    monkeypatch.setattr("backfill_assets.project.file_schema.read_schema", lambda *_: ())  # nothing is at their paths
    monkeypatch.delenv("BACKFILL_PROJECT", raising=False)  # a command that was run in this process leaves it
    assert len(of("yaml")) > 20
    assert wrong(of("yaml"), lambda block: unread(block, tmp_path)) == []


def test_every_query_is_one(tmp_path: Path) -> None:
    """A model with a header by the reader of models, other SQL by the parser."""
    assert len(of("sql")) > 4
    assert wrong(of("sql"), lambda block: unparsed(block, tmp_path)) == []


def test_every_python_could_run(tmp_path: Path) -> None:
    """It compiles, names nothing that it lacks; modules are there, and what of ours is called takes these arguments.

    Functions under `@model` are read as models."""
    for block in of("pyi"):
        compile(block.text, block.where, "exec")
    assert len(of("python")) > 5 and len(of("pyi")) == len(backfill_assets.__all__)
    assert wrong(of("python"), unbound) == []
    problems: list[Problem] = []
    for number, block in enumerate(block for block in of("python") if "@model" in block.text):
        (tmp_path / f"models_{number}.py").write_text(block.text)
        assert read_python_models(tmp_path / f"models_{number}.py", tmp_path, problems)
    assert problems == [] and list(tmp_path.iterdir())


def test_every_code_location_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that make definitions are run, where the projects that they name are."""
    shutil.copytree(CHECKOUT / "backfill_assets" / "template", tmp_path / "projects" / "marketing")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKFILL_PROJECT", str(tmp_path / "projects" / "marketing"))
    made = [block for block in of("python") if "build_definitions(" in block.text]
    assert len(made) > 2
    for block in made:
        names: dict[str, Any] = {}
        exec(compile(block.text, block.where, "exec"), names)
        assert any("daily_revenue" in key.path for key in names["defs"].resolve_all_asset_keys()), block.where


def test_the_demos_edit_fits_the_demo() -> None:
    """What docs/first-change.md changes of its files is there, once."""
    changes = [block for block in of("diff") if block.where.startswith("docs/first-change.md")]
    assert changes
    for block in changes:
        file = EMBEDDED_PROJECT / block.title.removeprefix("my_demo/")
        assert edited(file.read_text(), block.text) != file.read_text()


def misused(block: Block) -> Iterator[str]:
    """What the command line says of a block's commands."""
    for command in commands(block):
        words = [word for word in command if not re.match(r"\w+=", word)]  # variables of one command
        if words[:1] and words[0].endswith("backfill"):
            if said := refused(words[1:]):
                yield f"backfill {' '.join(words[1:])}: {said}"
        elif len(words) > 2 and words[0].endswith("python") and words[1] == "-m" and find_spec(words[2]) is None:
            yield f"no module {words[2]}"


def refused(words: list[str]) -> str:
    """Why these arguments are none of `backfill`; empty when they are. Nothing is invoked."""
    try:
        context = ROOT.make_context("backfill", list(words))
        if not (rest := [*context._protected_args, *context.args]):
            return "" if words else "no command"
        name, command, rest = ROOT.resolve_command(context, rest)
        inner = command.make_context(name, rest, parent=context)
        given = [p for p in command.params if inner.get_parameter_source(p.name).name == "COMMANDLINE"]
        check_options(name, [spelled(p) for p in given])
    except typer.Exit:  # --version, --help
        return ""
    except BackfillError as error:
        return error.what
    except Exception as error:
        return getattr(error, "message", "") or repr(error)
    return ""


def spelled(parameter: Any) -> str:
    """As `check_options` has it."""
    return parameter.name.upper() if parameter.param_type_name == "argument" else max(parameter.opts, key=len)[2:]


def options(command: Any, *, inner: bool = True) -> set[str]:
    """All spellings of the options of a command."""
    found = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    return found.union(*map(options, getattr(command, "commands", {}).values() if inner else ()))


def unread(block: Block, folder: Path) -> Iterator[str]:
    """What is wrong with a block of YAML, by the reader of the file that its keys (or its title) say that it is."""
    problems: list[Problem] = []
    read = read_yaml(block.text, folder / "block.yml", problems)
    data = read.data if read is not None else None
    if not isinstance(data, dict):
        yield "it is no mapping"
        return
    keys = {str(key) for key in data}  # YAML takes `on` of a workflow for a truth
    if "sources" in keys:
        (folder / "sources.yml").write_text(block.text)
        read_sources(folder, problems)
    elif "consumers" in keys:
        (folder / "consumers.yml").write_text(block.text)
        models = [name for one in data["consumers"] or () for name in one.get("reads", ())]
        read_consumers(folder, models, "prod", problems)
    elif "type" in keys:
        BackfillProjectComponent.get_model_cls()(**data["attributes"])
    elif "jobs" in keys:
        yield from () if "True" in keys else ("it says no trigger",)  # the rest: unit/actions/test_workflows.py
    elif keys <= {"storage", "concurrency", "telemetry", "nux", "run_launcher"}:
        (folder / "dagster.yaml").write_text(block.text)
        dagster_instance_config(str(folder))
    elif keys == {"load_from"}:
        said = process_workspace_config(data)
        yield from [str(error.message) for error in said.errors or ()]
    elif {"apiVersion", "kind"} <= keys:
        yield from [f"not of Kubernetes: {key}" for key in sorted(keys - OF_KUBERNETES)]
    elif keys == {"ops"}:
        yield from misconfigured(data)
    elif keys <= OWN_KEYS:
        (folder / "backfill.yml").write_text(block.text)
        parse_settings(folder / "backfill.yml", problems)
    elif keys <= set(Header.model_fields):
        (folder / "m.sql").write_text(f"/*\n{header(data, block.text)}*/\nSELECT 1 AS ds WHERE :start < :end")
        read_sql_model(folder / "m.sql", problems)
    else:
        yield f"no file has these keys: {', '.join(sorted(keys))}"
    yield from [f"{problem.what}: {problem.why}" for problem in problems]


def header(data: dict[str, object], text: str) -> str:
    """A part of a header as one, with what every header has."""
    return (
        "".join(f"{key}: {value}\n" for key, value in (("start", "2024-01-01"), ("grain", "[ds]")) if key not in data)
        + text
    )


def misconfigured(data: dict[str, Any]) -> Iterator[str]:
    """What Dagster says of a run's configuration, by the job that has its step."""
    from backfill_assets.defs.build_definitions import build_definitions

    jobs = [
        job for job in build_definitions().resolve_all_job_defs() if {n.name for n in job.nodes} >= data["ops"].keys()
    ]
    if not jobs:
        yield f"no job has the step {', '.join(data['ops'])}"
    for job in jobs:
        try:
            dg.validate_run_config(job, data)
        except dg.DagsterInvalidConfigError as error:
            yield str(error)


def unparsed(block: Block, folder: Path) -> Iterator[str]:
    """What is wrong with a block of SQL."""
    if block.text.lstrip().startswith("/*"):
        problems: list[Problem] = []
        (folder / "model.sql").write_text(block.text)
        read_sql_model(folder / "model.sql", problems)
        yield from [f"{problem.what}: {problem.why}" for problem in problems]
        return
    try:
        parse(block.text)
    except SqlError as error:
        yield error.what


def unbound(block: Block) -> Iterator[str]:
    """What a block of Python lacks, or calls otherwise than it can be called."""
    try:
        tree = ast.parse(block.text)
    except SyntaxError as error:
        yield str(error)
        return
    known: dict[str, Any] = dict(vars(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                for name in names:
                    known[name.asname or name.name] = importlib.import_module(name.name)
            case ast.ImportFrom(str(module), names):
                for name in names:
                    known[name.asname or name.name] = getattr(importlib.import_module(module), name.name)
            case ast.FunctionDef(name) | ast.ClassDef(name) | ast.arg(name) | ast.Name(name, ast.Store()):
                known.setdefault(name, None)
            case _:
                pass
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in known:
            yield f"line {node.lineno}: {node.id} is not defined"
        elif isinstance(node, ast.Call) and (called := ours(node.func, known)) is not None:
            try:
                inspect.signature(called).bind(*node.args, **{str(k.arg): k.value for k in node.keywords})
            except TypeError as error:
                yield f"line {node.lineno}: {ast.unparse(node.func)}: {error}"


def ours(called: ast.expr, known: dict[str, Any]) -> Any:
    """The function of ours that is called; None for another's."""
    match called:
        case ast.Attribute(ast.Name("backfill_assets"), name):
            return getattr(backfill_assets, name)
        case ast.Name(name) if str(getattr(known.get(name), "__module__", "")).startswith("backfill_assets"):
            return known[name]
        case _:
            return None
