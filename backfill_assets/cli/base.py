"""What do all commands share? The application, their common options, and how a plan is carried out."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from backfill_assets.cli.terminal import echo, err, print_json
from backfill_assets.core.errors import SettingsError
from backfill_assets.files.untrusted import UNTRUSTED, is_untrusted
from backfill_assets.plan.faulty import faulty_words
from backfill_assets.plan.options import check_options
from backfill_assets.plan.stages import Plan

if TYPE_CHECKING:
    from backfill_assets.app.carry_out import Follow
    from backfill_assets.app.context import Context
    from backfill_assets.app.promote import Promoted
    from backfill_assets.build.events import Listener

READING = ("plan", "preflight", "lineage", "status", "plans", "releases", "verify", "doctor")
"""The commands that work for untrusted changes: they need neither Spark nor a write."""
INCOMPLETE, CLOSED, UNEXPECTED, CRASHED, HELD, CUT_OFF = 3, 4, 5, 70, 75, 141


class Command(TyperCommand):
    """A command whose options are checked against each other before anything is opened."""

    def invoke(self, ctx: Any) -> object:
        given = [p for p in self.params if getattr(ctx.get_parameter_source(p.name), "name", "") == "COMMANDLINE"]
        check_options(ctx.info_name or "", [_spelling(p) for p in given])
        return super().invoke(ctx)


SECTIONS = {
    "build_commands": "Change and build, beside prod",
    "release_commands": "Compare, approve, release",
    "operation_commands": "Operate",
    "pin_commands": "Operate",
    "warehouse_commands": "The warehouse and its records",
    "adopt_command": "Begin, look around",
    "import_command": "Begin, look around",
    "export_command": "Begin, look around",
    "tool_commands": "Begin, look around",
}
"""The heading in `backfill --help` of the commands of each module, in this order."""


class Commands(TyperGroup):
    """The commands in sections: thirty in one list are too many to find one."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """As Click does, a list a section."""
        shown = {name: command for name in self.list_commands(ctx) if not (command := self.commands[name]).hidden}
        width = max(map(len, shown))
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in SECTIONS.values()}
        for name, command in shown.items():
            module = (command.callback or _root).__module__.rpartition(".")[2]
            said = command.get_short_help_str(formatter.width - 6 - width)
            rows[SECTIONS[module]].append((f"{name:{width}}", said))
        for title, of_it in rows.items():
            with formatter.section(title):
                formatter.write_dl(of_it)


class _Commands(typer.Typer):
    def command(self, *arguments: Any, **options: Any) -> Any:
        return super().command(*arguments, **{"cls": Command} | options)


app = _Commands(
    name="backfill",
    cls=Commands,
    help="Rewrite history safely: plan, build beside prod, audit, move every prod view in one step.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a machine instead of text for a person.")]
EnvironmentName = Annotated[str | None, typer.Option("--environment", "-e", help="Another than the project's.")]


def _spelling(parameter: Any) -> str:
    """`end-bounded` of `--end-bounded`; an argument in capitals."""
    if parameter.param_type_name == "argument":
        return (parameter.name or "").upper()
    return max(parameter.opts, key=len).lstrip("-")


def _tell_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        echo(f"backfill {version('backfill-assets')}")
        raise typer.Exit


@app.callback()
def _root(
    ctx: typer.Context,
    project: Annotated[
        Path | None,
        typer.Option(
            envvar="BACKFILL_PROJECT",
            metavar="DIR",
            help="The folder with backfill.yml; default: from here upwards, else the demo.",
        ),
    ] = None,
    untrusted: Annotated[
        bool,
        typer.Option("--untrusted", help="The files may be a stranger's: execute none of their code, write nothing."),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Say which release this is.")
    ] = False,
) -> None:
    if project is not None:
        os.environ["BACKFILL_PROJECT"] = str(project)
    if untrusted:
        os.environ[UNTRUSTED] = "1"
    command = ctx.invoked_subcommand
    if is_untrusted() and command not in READING:
        raise SettingsError(
            f"`backfill {command}` is refused",
            why="the change is untrusted: nothing of it is executed, built, approved or shown",
            fix=f"these work: {', '.join(READING)}",
        )


def open_context() -> Context:
    """The project that the command is about. What keeps models of it from being computed is told on standard error."""
    from backfill_assets.app.context import Context

    context = Context.open(root_folder())
    for line in faulty_words(context.project):
        err().print(Text(line, style="yellow"))
    return context


def root_folder() -> Path:
    """Its folder, which need not hold a whole project; named on standard error before anything else is said."""
    from backfill_assets.project.settings import EMBEDDED_PROJECT, project_root

    root = project_root()
    what = "the embedded demo" if root == EMBEDDED_PROJECT.resolve() else str(root)
    err().print(Text(f"project: {what}", style="dim"))
    return root


def following(*, quiet: bool) -> Follow:
    """Shows a run's progress on the terminal, and what is done of it when somebody ends it."""

    @contextmanager
    def follow(context: Context, plan: Plan, run: str) -> Generator[Listener]:
        from backfill_assets.build.events import silence
        from backfill_assets.cli.progress import live_progress
        from backfill_assets.cli.signals import say_done

        try:
            with nullcontext(silence) if quiet else live_progress(context.project) as listen:
                yield listen
        except KeyboardInterrupt:
            say_done(context, plan, run)
            raise

    return follow


def tell_promoted(done: Promoted, *, as_json: bool) -> None:
    """Say what moved or what is in the way. Exits with CLOSED when nothing may move."""
    from backfill_assets.cli.faults import print_faults
    from backfill_assets.cli.plans import print_amendment
    from backfill_assets.cli.promotion import print_promotion, promotion_json
    from backfill_assets.cli.rules import print_notes
    from backfill_assets.core.codec import to_plain

    if as_json:
        more = {"rules": list(done.notes), "amendment": to_plain(done.amendment), "waiting": to_plain(done.waiting)}
        more |= {"stale": to_plain(done.stale), "left": to_plain(done.left)}
        more |= {"warned": [str(warned) for warned in done.warned], "late": [n.to_json() for n in done.late]}
        print_json(promotion_json(done.before, done.environment, done.verdict) | more)
    else:
        print_amendment(done.amendment)
        print_promotion(done.before, done.environment, done.verdict, done.waiting)
        print_faults(done.stale)
        audits = (f"Audits: {warned}" for warned in done.warned)
        print_notes((*done.left_words, *map(str, done.late), *audits, *done.notes))
    if not done.verdict.open:
        raise typer.Exit(CLOSED)
