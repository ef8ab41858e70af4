"""Does a model give the same rows when an interval is built again? Refused where not, unless its header allows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from backfill_assets.core.errors import Problem
from backfill_assets.project.draft import Draft
from backfill_assets.project.outputs import Outputs
from backfill_assets.sql.nondeterministic import FunctionUse, Nondeterminism, uses_in_text, uses_of_texts
from backfill_assets.sql.order_check import order_findings
from backfill_assets.sql.signature import Table
from backfill_assets.sql.text_clocks import Tables


def refusals(draft: Draft, root: Path, uses: Sequence[FunctionUse] | None = None) -> list[Problem]:
    """A problem for each of the uses (None: those that its file shows), each once a line."""
    if draft.header is None or draft.header.allow_nondeterministic:
        return []
    wanted = draft.uses if uses is None else uses
    return [_problem(draft, root, use) for use in dict.fromkeys(wanted) if use.cause is not Nondeterminism.UNREAD]


def unread(draft: Draft, root: Path, compiled: str | None) -> list[Problem]:
    """A warning for each call of a function whose name nobody can read, where no SQL shows what it calls."""
    if draft.header is None or draft.header.allow_nondeterministic or compiled is not None:
        return []
    return [_problem(draft, root, u) for u in dict.fromkeys(draft.uses) if u.cause is Nondeterminism.UNREAD]


def _problem(draft: Draft, root: Path, use: FunctionUse) -> Problem:
    return Problem(
        file=root / use.file if use.file else draft.path,
        line=use.line,
        what=f"`{use.name}` {use.cause.verb} something else when `{draft.name}` is built again",
        why=use.cause.why,
        fix=f"{use.cause.fix}; or say in the header why it may: `allow_nondeterministic: …`",
    )


def unseen(draft: Draft, root: Path) -> list[Problem]:
    """A warning for each place where the model looks at something that its version does not depend on."""
    return [
        Problem(
            file=root / found.file,
            line=found.line,
            what=f"`{draft.name}` reads at build time what its version does not depend on: {found.what}",
            why="when that changes, the model still counts as unchanged",
            fix="read a file of the project by a literal path, or an upstream; or change `code_version` with it",
        )
        for found in draft.unseen
    ]


def not_executed(draft: Draft) -> Problem:
    """What a plan of untrusted changes says of each Python model."""
    return draft.problem(
        draft.line,
        what=f"Python models were not executed: `{draft.name}` is compared as a whole",
        why="the change is untrusted",
        fix="a plan where it is trusted tells columns apart",
    )


def not_taken_apart(draft: Draft, fault: str) -> Problem:
    """What is said of a Python model that this machine failed at: it says nothing of the code."""
    return draft.problem(
        draft.line,
        what=f"this machine could not take `{draft.name}` apart: it is compared as a whole",
        why=f"{fault}; that is no property of its code, and is not remembered",
        fix="let this account read Python and its packages, or free memory; then plan again, before anything is built",
    )


def hidden_uses(draft: Draft, compiled: str | None, tables: Tables) -> list[FunctionUse]:
    """Those that only the SQL of a Python model shows; at the line of its function. `tables`: what it reads."""
    if compiled is None or any(use.cause is not Nondeterminism.UNREAD for use in draft.uses):
        return []
    return [FunctionUse(name=use.name, cause=use.cause, line=draft.line) for use in uses_in_text(compiled, tables)]


def typed_uses(draft: Draft, tables: Tables) -> list[FunctionUse]:
    """Those of an SQL model that show once the columns of what it reads are known."""
    trees = draft.sql.statements if draft.sql else ()
    return [replace(use, line=draft.code_line + use.line - 1) for tree in trees for use in uses_of_texts(tree, tables)]


def remarks(
    draft: Draft, hidden: Sequence[FunctionUse], outputs: Outputs, tables: Mapping[str, Table]
) -> list[Problem]:
    """What may be other rows when it is built again, and a permission that nothing needs: warnings, no problems.

    `tables` are all that models read, by name.
    """
    read = {key: tables[name] for key, name in outputs.names.items()}
    found = order_findings(outputs.sql, outputs.scopes, read) if outputs.sql else []
    header = draft.header
    if header is not None and header.allow_nondeterministic:
        if draft.uses or hidden or found or not outputs.scopes:
            return []
        what = "`allow_nondeterministic` is not needed"
        why = "nothing in the code needs it"
        return [draft.document.problem("allow_nondeterministic", what=what, why=why, fix="remove it")]
    lines = [draft.line if draft.language == "python" else draft.code_line + f.line - 1 for f in found]
    return list(
        dict.fromkeys(
            Problem(file=draft.path, line=line, what=f.what, why=f.why, fix=f.fix)
            for line, f in zip(lines, found, strict=True)
        )
    )
