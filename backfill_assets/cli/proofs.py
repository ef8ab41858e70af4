"""How does a person learn what was found out about a plan: a line a model, and what an owner has to accept?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.cli.terminal import out, styled
from backfill_assets.compare.codec import diff_from_json
from backfill_assets.compare.diff_text import letter_lines, move_lines, row_line, type_lines
from backfill_assets.compare.filling import FILLING
from backfill_assets.contracts.rerun import Reruns
from backfill_assets.core.codec import from_plain
from backfill_assets.state.proofs import CONSUMERS, DIFF, Proof


def print_proofs(proofs: Sequence[Proof]) -> None:
    """What was compared and asked, and how to accept what is not as it should be."""
    console = out()
    for proof in proofs:
        if proof.kind == DIFF:
            for model in diff_from_json(proof.document).models:
                said = [
                    *([f"with what was shown until {model.until} took it out"] if model.until else []),
                    row_line(model),
                    *move_lines(model),
                    *letter_lines(model),
                    *type_lines(model),
                ]
                console.print(Text(f"compared  {model.model}  {'; '.join(said)}"))
            for line in proof.document.get(FILLING, ()):
                console.print(Text(f"filled  {line}"))
        elif proof.kind == CONSUMERS:
            asked = from_plain(Reruns, proof.document).reruns
            if asked:
                good = sum(r.met for r in asked)
                console.print(f"consumers  {good} of {len(asked)} queries answer as expected")
        for finding in proof.findings:
            console.print(Text(f"{finding.name}  ", style="bold red") + Text(finding.text))
    plans = {proof.plan for proof in proofs if proof.findings}
    for plan in plans:
        console.print(
            styled(
                'Mend it, or let the owner accept it: [bold]backfill approve {} --accept NAME="why it may be so"[/]',
                plan,
            )
        )
