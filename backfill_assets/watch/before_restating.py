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
    shown = look.environment.versions
    other = [n for n in dict.fromkeys((*named, *read)) if look.fingerprints.get(n, shown[n]) != shown[n]]
    steps = [f"promote or take back the newer code of {', '.join(other)}"] if other else []
    if gone:
        file, they = ("its file", "it") if len(gone) == 1 else ("their files", "them")
        steps.append(
            f"the code has no {', '.join(gone)} any more: put {file} back; "
            f"or take {they} out of {look.environment.name} by {out_command(gone)}, and leave {they} out below"
        )
    return "".join(f"{step}; then " for step in steps)
