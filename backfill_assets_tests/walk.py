"""Which functions does one interval pass, from its model's file to the view in prod? The walk in docs/architecture.md.

    python -m backfill_assets_tests.walk

Each hop is called by the nearest one above it that is further left; private helpers of the caller's module are no hops.
All that is looked up in the code: a hop that moved, or that is not called from there any more, is an error, which the
check of the docs reports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

PACKAGE = "backfill_assets"
ROOT = Path(__file__).parent.parent / PACKAGE
MOST = 40
HANDED_IN = "handed in:"
"""Of a hop that is called by way of a parameter: one of the functions further left names it."""
WALK = """\
cli.build_commands:apply                          the request is parsed; nothing below knows a terminal
  cli.base:open_context
    app.context:Context.open                      a project, its records and its machine
      project.loader:load_project                 from the cache, else:
        project.reading:read_project              all files, and all problems at once
          project.sql_files:read_sql_model        header and query of one file
          project.assemble:build_model            a model, with its audits
          project.fingerprint:model_signature     what decides its rows: its hash names the version
  app.apply:start_apply
    app.context:Context.facts                     what is there, read once
      plan.facts:read_facts
        state.tables:known_coverage               built, green, missing: from the ledger and the table's log
    app.plan:plan_request
      plan.plan:make_plan                         stages: build, audit, promote
        plan.missing:ready                        what can be computed by now
    app.candidate:open_plan                       the plan is stored
  app.apply:build_plan
    app.carry_out:carry_out
      build.apply:apply                           models in dependency order
        build.build:build                         one model over its intervals
          build.batch:build_batch                 one batch, with retries
            adapters.engine:SparkEngine.write     one commit, tagged with the batch
              adapters.job_rows:JobRows.checked   what it reads, at frozen commits
            state.ledger:Ledger.append            BUILT, after the commit
          build.audit:audit_built                 what has no verdict yet, in one go
            adapters.engine:SparkEngine.scan      exactly that commit
              audits.scan:scan_audits
            audits.judge:judge                    a verdict per check and interval; AUDITED or INVALIDATED follows
  app.apply:check_plan
    app.apply:check_rows
      app.prove:prove_built                       compared with what is shown: without that the gate stays shut
  app.promote:promote_plan
    promote.release:release_case                  again, from fresh facts, after a lost race
      app.gate:promotion_case                     handed in: all that the gate looks at
      promote.gate:gate                           every rule in order, all obstacles
      app.evidence:seal_release                   handed in: of the plan and of the release, before anything moves
      promote.promote:promote                     views are expanded, pointers flip, views are settled
        state.environment:Environments.flip       all pointers in one commit
        adapters.spark_views:SparkViews.settle
          promote.views:plain_view                what prod shows: its segments at their commits
"""


def walk() -> list[str]:
    """The lines of the walk, after a look at the code, and what they come to. Raises ValueError for a wrong one."""
    above: list[tuple[int, str]] = []
    hops: list[str] = []
    for line in WALK.splitlines():
        hop = line.split()[0]
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        if not _definitions(hop):
            raise ValueError(f"there is no {hop}")
        callers = [caller for _, caller in (above if HANDED_IN in line else above[-1:])]
        if callers and not any(_calls(caller, hop) for caller in callers):
            raise ValueError(f"{callers[-1]} does not call {hop}")
        above.append((depth, hop))
        hops.append(hop)
    if len(hops) > MOST:
        raise ValueError(f"{len(hops)} hops are more than {MOST}")
    files = [hop.split(":")[0] for hop in hops]
    packages = [file.split(".")[0] for file in files]
    changes = sum(one != other for one, other in pairwise(packages))
    told = f"{len(hops)} hops in {len(set(files))} files of {len(set(packages))} packages, {changes} changes of package"
    return [*WALK.splitlines(), "", told]


def _calls(caller: str, hop: str) -> bool:
    """Whether a hop's code names another one, itself or in private helpers of its module.

    A function must be imported from where it is; a method's object must be called like the end of its class.
    """
    here, (module, path) = caller.split(":")[0], hop.split(":")
    owner, _, name = path.rpartition(".")
    wanted = {name} if owner or module == here else set(_imported(here, module, name))
    seen, todo = set[str](), list(_definitions(caller))
    while todo:
        for node in ast.walk(todo.pop()):
            said, of = _named(node)
            if said in wanted and (not owner or ((own := of.lower().lstrip("_")) and owner.lower().endswith(own))):
                return True
            if said.startswith("_") and said not in seen:
                seen.add(said)
                todo += _functions(here, said)
    return False


def _named(node: ast.AST) -> tuple[str, str]:
    """The name that an expression says, and that of the object whose attribute it is."""
    match node:
        case ast.Name(id=name):
            return name, ""
        case ast.Attribute(attr=name, value=ast.Name(id=of) | ast.Attribute(attr=of)):
            return name, of
        case _:
            return "", ""


def _imported(here: str, module: str, name: str) -> Iterator[str]:
    """What a module calls a function of another one."""
    for node in ast.walk(_tree(here)):
        if isinstance(node, ast.ImportFrom) and node.module == f"{PACKAGE}.{module}":
            yield from (alias.asname or alias.name for alias in node.names if alias.name == name)


def _definitions(hop: str) -> list[ast.stmt]:
    """The function or method that a hop names."""
    module, path = hop.split(":")
    found: list[ast.stmt] = [_tree(module)]  # type: ignore[list-item]
    for part in path.split("."):
        found = [n for node in found for n in getattr(node, "body", ()) if getattr(n, "name", "") == part]
    return found


def _functions(module: str, name: str) -> list[ast.stmt]:
    """The functions and methods of a module that have a name."""
    return [n for n in ast.walk(_tree(module)) if isinstance(n, ast.FunctionDef) and n.name == name]


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())


if __name__ == "__main__":
    print("\n".join(walk()))
