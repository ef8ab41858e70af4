"""Use case: make an older release's warehouse one of this release, and say of which versions nothing is proved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from backfill_assets.adapters.accepting import migrate as give_identity
from backfill_assets.adapters.account import account
from backfill_assets.app.context import Context
from backfill_assets.core.model import Project
from backfill_assets.project.algorithm import version_of
from backfill_assets.project.settings import load_settings
from backfill_assets.state.upgrades import sign_again


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovedVersion:
    """A version in use of which nobody knows what it is made of, and what its owner can do."""

    model: str
    version: str
    why: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """`made`: the warehouse got its identity now."""

    warehouse: str
    made: bool
    unproved: tuple[UnprovedVersion, ...]

    def to_json(self) -> dict[str, object]:
        """As `backfill migrate --json` prints it."""
        return {"warehouse": self.warehouse, "migrated": self.made, "unproved": [asdict(u) for u in self.unproved]}


def migrate(root: Path) -> Migrated:
    """Write the identity, then the signatures; each once. Builds and audits nothing.

    Raises ProjectError, SettingsError, and StateError for a warehouse that is lost or belongs to another project.
    """
    settings = load_settings(root)
    made = give_identity(settings, root, by=account())
    context = Context.open(root)
    left = sign_again(context.control, context.project)
    named = {word.model: word.version for word in context.project.overrides.values()}
    unproved = tuple(
        UnprovedVersion(model=model, version=version, why=why, fix=_fix(context.project, model, version))
        for (model, version), why in left.items()
        if named.get(model) != version
    )
    return Migrated(warehouse=settings.warehouse, made=made is not None, unproved=unproved)


def _fix(project: Project, model: str, version: str) -> str:
    again = "with sources.yml and `spark:` as they were then, run `backfill migrate` again"
    if model not in project.models:
        return again
    code = version_of(project.signatures[model])
    word = f'same_as: {{version: "{version}", code: "{code}", reason: …}}'
    file = project.models[model].path.relative_to(project.root)
    return f"{again}; or, if the loaded code gives its rows, write into {file}: {word}; else backfill apply builds it"
