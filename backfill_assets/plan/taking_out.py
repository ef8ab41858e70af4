"""How does a model that the code does not have go out of what an environment shows? Nothing that stays may read it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from backfill_assets.core.model import Project
from backfill_assets.plan.followed import ReadByNow
from backfill_assets.state.environment import Environment
from backfill_assets.state.releases import NOTHING_SHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class TakingOut:
    """What goes, and what is to be done before."""

    models: tuple[str, ...]
    """Those that are to go, and all that reads them and is not in the code either: they go together."""
    held: Mapping[str, tuple[str, ...]]
    """Reader that the code has → what of these it reads, as it is shown."""
    together: Mapping[str, tuple[str, ...]]
    """The same of the readers that go as well."""
    first: str
    """The steps before it; "" where nothing is in the way."""

    @property
    def command(self) -> str:
        return out_command(self.models)

    @property
    def steps(self) -> str:
        """All that is to be done."""
        return f"{self.first}; then {self.command}" if self.first else self.command


def out_command(models: Collection[str]) -> str:
    """The command that takes models out of what is shown."""
    return f"backfill rollback {NOTHING_SHOWN} --select {','.join(models)}"


def taking_out(project: Project, shown: Environment, reads: ReadByNow, names: Collection[str]) -> TakingOut:
    """How models that the code does not have go, by what is read by now."""
    going, held, together = sorted(names), dict[str, list[str]](), dict[str, list[str]]()
    for name in going:
        for reader in reads.readers(name):
            (held if reader in project.models else together).setdefault(reader, []).append(name)
            if reader not in project.models and reader not in going:
                going.append(reader)
    # Until they go, another version of what they are computed from cannot be shown.
    stuck = any(_moves(project, shown, up) for name in going for up in reads.upstreams.get(name, ()))
    return TakingOut(
        models=tuple(sorted(going)),
        held={reader: tuple(sorted(of)) for reader, of in held.items()},
        together={reader: tuple(sorted(of)) for reader, of in together.items()},
        first=_first(held, going, [name for name in held if name in reads.bound], stuck=stuck),
    )


def _moves(project: Project, shown: Environment, name: str) -> bool:
    """Whether the code says another version of a model than is shown."""
    pointer = shown.pointers.get(name)
    return name in project.models and (pointer is None or project.fingerprints[name] != pointer.version)


def _first(held: Collection[str], going: Collection[str], bound: Collection[str], *, stuck: bool) -> str:
    if not held:
        return ""
    file = "its file" if len(going) == 1 else "their files"
    release = f"backfill apply, then backfill promote, which shows {', '.join(held)} as the code has it"
    if bound:
        release = f"give {', '.join(bound)} a `code_version` of its own, and no `same_as`; {release}"
    return f"put {file} back; {release}; delete {file} again" if stuck else release
