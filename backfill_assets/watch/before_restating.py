"""What has to be done before what is shown of models can be restated?"""

from __future__ import annotations

from collections.abc import Iterable

from backfill_assets.plan.taking_out import out_command
from backfill_assets.watch.facts import WatchFacts


def before_restating(look: WatchFacts, names: Iterable[str]) -> str:
    """The steps, ending in "then "; "" where there are none: a restatement needs the code that is published."""
    named = list(names)
    gone = [name for name in named if name not in look.fingerprints]
    models = look.project.models
    read = [u.name for name in named if name in models for u in models[name].upstreams if u.name in models]
    shown = {**look.beside, **look.environment.versions}
    other = [n for n in dict.fromkeys((*named, *read)) if n in shown and look.fingerprints.get(n, shown[n]) != shown[n]]
    begun = open_restatement(look, named)
    steps = [begun] if begun else []
    if other:
        steps.append(f"promote or take back the newer code of {', '.join(other)}")
    if gone:
        file, they = ("its file", "it") if len(gone) == 1 else ("their files", "them")
        steps.append(
            f"the code has no {', '.join(gone)} any more: put {file} back; "
            f"or take {they} out of {look.environment.name} by {out_command(gone)}, and leave {they} out below"
        )
    return "".join(f"{step}; then " for step in steps)


def open_restatement(look: WatchFacts, names: Iterable[str]) -> str:
    """What becomes of an open plan that computes rows of these models again: no other one may before it has ended. ""
    where there is none."""
    open_plans = dict.fromkeys(look.restating[name] for name in names if name in look.restating)
    said = {plan: [n for n, each in look.restating.items() if each == plan] for plan in open_plans}
    return "; ".join(
        f"promote plan {plan}, which computes {', '.join(models)} again already, or end it: backfill abandon {plan}"
        for plan, models in said.items()
    )
