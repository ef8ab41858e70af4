"""Somebody else's text is text: in a terminal, in Markdown, in HTML and in Dagster nothing obeys it.

Each renderer shows a corpus of hostile names, reasons and values; and no print of the command line takes another road.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

import backfill_assets
from backfill_assets.app.approve import Approved
from backfill_assets.build.outcome import Outcome
from backfill_assets.cli.approve import print_approved
from backfill_assets.cli.evidence import print_evidence, print_verification
from backfill_assets.cli.impact import impact_markdown, print_impacts
from backfill_assets.cli.outcomes import print_outcomes
from backfill_assets.cli.plan_markdown import plan_markdown
from backfill_assets.cli.plan_text import print_plan
from backfill_assets.cli.plans import print_plans
from backfill_assets.cli.promotion import print_promotion
from backfill_assets.cli.proofs import print_proofs
from backfill_assets.cli.releases import print_release, print_releases
from backfill_assets.cli.rules import print_change, print_rules
from backfill_assets.cli.terminal import echo, grid, out, styled
from backfill_assets.compare.codec import diff_to_json
from backfill_assets.compare.markdown import model_markdown
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.escaping import markdown, markdown_code, one_line, visible
from backfill_assets.core.settings import ApprovalRules
from backfill_assets.evidence.inputs import Inputs, JudgedApproval
from backfill_assets.evidence.make import Evidence, make
from backfill_assets.evidence.verify import Verification
from backfill_assets.plan.estimate import estimate
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.rules_change import RulesChange
from backfill_assets.state.environment import Environment
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets.state.proofs import Proof
from backfill_assets.state.releases import Release
from backfill_assets.state.rules import Rules, RulesInForce, RulesKind, RulesRecord
from backfill_assets_tests.fakes import World, a_model, days, ranges
from backfill_assets_tests.packets import a_subject, an_approval, some_inputs
from backfill_assets_tests.unit.compare.test_diff_text import a_diff

AT = datetime(2024, 1, 11, tzinfo=UTC)
CORPUS = [
    "\x1b[31mred\x1b[0m", "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", "\x1b]0;title\x07", "\x9b2J",
    "fine\rPromoted", "fine\x08\x08\x08\x08bad", "fine\nPromoted 3 models to prod", "\u202egnp.exe", "zero\x00byte",
    "[/red]", "[bold]", "[red]x[/]", "[link=https://evil.example]x[/link]", "[/]", "\\[bold]", "x\\",
    "[@click=app.bell]x",
    ":smiley: :warning:", "{}", "{0}", "%s", "{{ 7 * 7 }}", "{% raw %}",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</td></tr></table><h1>x", "a & b &lt; c &amp;",
    '" onmouseover="x', "javascript:alert(1)", "<!-- x -->", "<https://evil.example>",
    "https://evil.example www.evil.example",
    "[x](javascript:alert(1))", "![x](https://evil.example/x.png)", "**bold** _it_ `code` ``two``", "a | b | c",
    "```\nx\n```",
    "# heading", "- item", "1. item", "> quote", "---", "@team look", "~~gone~~", "[ ] task", "a\\|b", "x" * 5000,
]  # fmt: skip
OURS = re.compile(r"\x1b\[[0-9;]*m")
SEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(params=CORPUS)
def bad(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def printed(capsys: pytest.CaptureFixture[str], show: Callable[[], object]) -> str:
    """What a terminal is sent, without our own colours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")
        patch.setenv("COLUMNS", "20000")
        show()
    said = OURS.sub("", capsys.readouterr().out)
    assert not SEEN.search(said), repr(SEEN.findall(said))
    return said


def a_plan(bad: str) -> PlanRecord:
    target = PlanTarget(model="a", version="1", intervals=ranges(days("01")))
    return PlanRecord(
        id="1f3a9c02", environment="prod", targets=(target,), created=AT, by=bad, status=PlanStatus.OPEN, since=AT
    )  # fmt: skip


def some_rules(bad: str) -> RulesInForce:
    rules = Rules(approvals=ApprovalRules(owners={bad: (bad,)}), people={bad: (bad,)}, owners={"a": bad})
    return RulesInForce(environment="prod", rules=rules, edited=Rules(owners={"a": f"{bad}!"}), number=1, id="rules-1")


def a_change(bad: str) -> RulesChange:
    record = RulesRecord(
        environment="prod", number=2, kind=RulesKind.PROPOSED, parent="", rules=some_rules(bad).rules, account=bad,
        host=bad, at=AT, reason=bad,
    )  # fmt: skip
    return RulesChange(record=record, differences=(bad,), missing={bad: bad}, approvals=())


def a_packet(bad: str) -> Inputs:
    """One whose people, reasons, owners, findings, failures and code are hostile."""
    said: JudgedApproval = an_approval(
        by=bad, owner=bad, reason=bad, accepted={"conversions": bad}, account=bad, host=bad
    )
    inputs = some_inputs()
    subject = a_subject(days("01", "04"))
    subject = replace(
        subject,
        model=replace(subject.model, owner=bad, description=bad, code=f"SELECT {bad}"),
        results=tuple(replace(r, observed=bad, expected=bad, sample=(bad,), passed=False) for r in subject.results),
    )
    readers = tuple(replace(c, owner=bad, description=bad, url=bad) for c in inputs.consumers)
    proofs = {
        kind: replace(p, findings=tuple(replace(f, text=bad) for f in p.findings)) for kind, p in inputs.proofs.items()
    }
    return replace(
        inputs,
        plan=replace(inputs.plan, by=bad),
        said=replace(inputs.said, request=Request(why=bad)),
        subjects=(subject,),
        approvals=(said, replace(said, doubt=bad)),
        consumers=readers,
        proofs=proofs,
        rules=some_rules(bad),
    )


def a_plan_for(why: str) -> Plan:
    return World(a_model("a", "raw")).plan(Request(why=why))


# --- terminals --------------------------------------------------------------------------------------------------------


def test_what_consoles_do(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Plain strings, cells, styles with values, and lines: all is text, and nothing is lost."""

    def show() -> None:
        console, table = out(), grid()
        console.print(f"said {bad}")
        table.add_row(bad, styled("[bold]{}[/] waits", bad))
        console.print(table)
        echo(f"said {bad}")
        console.print(styled("[red]{}[/] of {}", bad, bad))

    said = printed(capsys, show)
    assert f"said {visible(bad)}" in said
    assert f"{one_line(bad)} of {one_line(bad)}" in said


def test_each_renderer(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever planned, approved, released or proposed, with any name and any reason."""
    world = World(a_model("a", "raw"))
    said = an_approval(by=bad, owner=bad, reason=bad, accepted={bad: bad}, account=bad, host=bad).approval
    obstacle = Obstacle(model="a", what=bad, remedy=bad)
    shown = Environment(name="prod", revision=1, pointers={}, releases={})
    release = Release(id="r1", environment="prod", revision=1, at=AT, by=bad, back_to=bad, moves=())
    failed = Outcome(model="a", version="1", requested=ranges(days("01")), green=ranges())
    proof = Proof(plan="1f", kind="diff", content="c", at=AT, findings=(), document=diff_to_json(a_diff()))
    packet, _ = make(a_packet(bad))
    rules = some_rules(bad)
    for show in (
        lambda: print_plans([a_plan(bad)], {a_plan(bad).id: bad}),
        lambda: print_approved(Approved(approvals=(said,), rules=Rules(), authors=[bad])),
        lambda: print_rules(rules, [a_change(bad).record], [a_change(bad)]),
        lambda: print_change(replace(a_change(bad), took_effect=True)),
        lambda: print_promotion(shown, shown, Verdict(pointers=(), obstacles=(obstacle,))),
        lambda: print_releases([release], "prod"),
        lambda: print_release(release),
        lambda: print_outcomes(world.plan(), {"a": failed}, world.project),
        lambda: print_proofs([proof]),
        lambda: print_impacts(world.plan(), ()),
        lambda: print_evidence(Evidence(packet=packet, location="/e", digest="d", changed=True)),
        lambda: print_verification(
            Verification(plan="1", problems=(bad,), files=1, tables=None, data_files=0, hashed=0)
        ),
    ):
        printed(capsys, show)


def test_errors(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A refusal that names what somebody typed ends in a message, not in a traceback of the printer."""
    from backfill_assets.cli.app import _complain  # pyright: ignore[reportPrivateUsage]

    _complain(str(BackfillError(f"{bad} may not approve", why=bad, fix=bad)))
    said = OURS.sub("", capsys.readouterr().err)
    assert not SEEN.search(said) and "may not approve" in said


def test_no_other_way_to_the_terminal() -> None:
    """Styles are written with `styled` only, consoles and plain lines come from terminal.py only."""
    tags = re.compile(r"\[/?(bold|red|yellow|green|dim|cyan|bold red|bold yellow|/)?\]")
    allowed = {"terminal.py", "progress.py"}  # the bars' columns have templates of their own
    found: list[str] = []
    for file in sorted((Path(backfill_assets.__file__).parent / "cli").glob("*.py")):
        if file.name in allowed:
            continue
        tree = ast.parse(file.read_text())
        styles = {
            id(leaf)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "styled"
            for leaf in ast.walk(call.args[0])
        }
        for node in ast.walk(tree):
            at = f"{file.name}:{getattr(node, 'lineno', 0)}"
            match node:
                case ast.Constant(value=str(text)) if tags.search(text) and id(node) not in styles:
                    found.append(f"{at} a style outside of styled")
                case ast.Call(func=ast.Name(id="styled"), args=[ast.JoinedStr(), *_]):
                    found.append(f"{at} a value within a template")
                case ast.Call(func=ast.Name(id="Console" | "print")):
                    found.append(f"{at} a console of its own")
                case ast.keyword(arg="markup"):
                    found.append(f"{at} markup")
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="typer"), attr="echo"), args=[ast.Call(func=inner), *_]
                ):
                    if ast.unparse(inner) != "json.dumps":
                        found.append(f"{at} typer.echo of something else than JSON")
                case ast.Call(func=ast.Attribute(value=ast.Name(id="typer"), attr="echo"), args=[first, *_]):
                    if ast.unparse(first) not in ("one.statement",):  # JSON as well
                        found.append(f"{at} typer.echo")
                case _:
                    pass
    assert found == []


# --- Markdown and HTML ------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


def test_markdown_of_a_text(bad: str) -> None:
    """No mark is left that a renderer of Markdown would take for one; a line stays a line."""
    said = markdown(bad)
    assert "\n" not in said and not SEEN.search(said)
    assert not re.search(r"(?<!\\)[`\[\]|*~<]", re.sub(r"\\\\", "", said)), said
    assert not re.search(r"\w://\w|(?<!\w)@\w|www\.\w", said)
    assert not re.match(r"\s*(#+\s|[-+]\s|>|\d+[.)]\s|-+$)", said)
    code = markdown_code(bad)
    fence = re.match("`+", code)
    assert fence and code.endswith(fence[0]) and fence[0] not in code[len(fence[0]) : -len(fence[0])].strip("` ")
    assert "\n" not in code and "|" not in code


def test_the_packet(bad: str) -> None:
    """The page has the elements that it always has; the notes have no mark and no control character of others."""
    _, files = make(a_packet(bad))
    plain, page = Page(), Page()
    plain.feed(make(a_packet("ana"))[1]["packet.html"].decode())
    page.feed(files["packet.html"].decode())
    assert page.tags <= plain.tags | {"wbr"} and page.attributes <= plain.attributes | {"href"}
    assert not SEEN.search(files["packet.html"].decode())
    for name in ("release_note.md", "cutover_message.md"):
        said = files[name].decode()
        assert (
            not SEEN.search(said)
            and "<script" not in said
            and "<img" not in said
            and not re.search(r"(?<!\\)\]\(", said)
        )
        assert not re.search(r"\w://\w", said)


def test_diffs_and_impacts(bad: str) -> None:
    """What goes to pull requests and to Dagster's metadata."""
    diff = a_diff()
    hostile = replace(diff, old=bad, models=tuple(replace(m, model=bad) for m in diff.models))
    said = "\n".join(model_markdown(m, hostile.old, hostile.new) for m in hostile.models)
    assert not SEEN.search(said) and "<script" not in said and "<img" not in said
    assert bad in ("zero\x00byte",) or markdown(bad) in said
    assert impact_markdown(World(a_model("a", "raw")).plan(), ()) == ""


def test_what_a_plan_is_for(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line in the plan's text, in the next step and in an approval; no markup in Markdown."""
    plan, world = a_plan_for(bad), World(a_model("a", "raw"))
    guess = estimate(plan.work, [], world.project.models, at_once=1)
    said = printed(capsys, lambda: print_plan(plan, world.project, guess))
    assert (
        f"Why: {one_line(bad)}\n" in said
        and f"\nNext: {one_line(f'backfill apply --why {shlex.quote(bad)}')}\n" in said
    )
    approved = printed(
        capsys, lambda: print_approved(Approved(approvals=(an_approval().approval,), rules=Rules(), why=bad))
    )
    assert approved.startswith(f"Plan 7f3c is for: {one_line(bad)}\n")
    text = plan_markdown(plan, world.project, guess)
    assert f"**Why:** {markdown(bad)}\n" in text and not SEEN.search(text)
