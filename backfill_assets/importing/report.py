"""What does the report of an import say? What is known to be the same, what to check, what was not translated, and how
rows are compared with the old tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.importing.found import Left, Remark, ToCheck, TranslatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did, by path from the project's folder. `kept` are files that were there, with why they stay.

    `models` are all that are translated, also those whose files were there; `within` those that became a part of
    others, with their places. `missing` are entries that files lack, as YAML, by file: what is there is not edited.
    """

    written: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    models: tuple[TranslatedModel, ...]
    within: Mapping[str, str]
    checks: tuple[ToCheck, ...]
    left: tuple[Left, ...]
    remarks: tuple[Remark, ...]
    missing: Mapping[str, str]

    @property
    def same(self) -> tuple[TranslatedModel, ...]:
        """Models whose rows are known to be the same."""
        return tuple(m for m in self.models if not m.checks)

    @property
    def to_check(self) -> tuple[TranslatedModel, ...]:
        """Models with places to look at."""
        return tuple(m for m in self.models if m.checks)


def report(tool: str, done: Imported) -> str:
    """The report, in Markdown."""
    lines = [
        f"# Import from {tool}",
        "",
        f"{len(done.same)} models: same rows known. {len(done.to_check)} models: translated, to be checked. "
        f"{len(done.left)} things not translated.",
        "",
        *_same(done),
        *_to_check(done),
        *_left(done),
    ]
    for file, text in done.missing.items():
        lines += ["", f"## Add to {file}, and import again", "", "```yaml", text.rstrip(), "```"]
    lines += ["", "## Files", ""]
    lines += [f"- wrote {path}" for path in done.written]
    lines += [f"- kept {path}: {why}" for path, why in done.kept]
    if done.remarks:
        lines += ["", "## What has another form here", ""]
        lines += [f"- `{r.place}` ({r.model}): {r.what}" for r in dict.fromkeys(done.remarks)]
    lines += [
        "", "## What was taken for granted", "",
        "- The session's time zone there is UTC, and columns have the types that are declared.",
        "- Sources are where `table:` in sources.yml says: look at each.",
    ]  # fmt: skip
    return "\n".join([*lines, *_proof(done.models), ""])


def _same(done: Imported) -> Iterator[str]:
    yield from ("## Same rows known", "")
    yield "Each construct of these is on the list of what means the same in Spark (`backfill docs coming_from`)."
    yield ""
    yield from [f"- `{m.origin}`: {m.name}" for m in done.same] or ["- none"]


def _to_check(done: Imported) -> Iterator[str]:
    yield from ("", "## Translated, to be checked", "")
    shared = list(dict.fromkeys(done.checks))
    for check in shared:
        yield from _item(check.place, check.model, check.what, check.why)
    for model in done.to_check:
        inlined = f"; it has {', '.join(model.inlined)} within" if model.inlined else ""
        yield from ("", f"### {model.name} (`{model.origin}`{inlined})", "")
        for check in model.checks:
            own = check.model if check.place.rpartition(":")[0] != model.origin.rpartition(":")[0] else ""
            yield from _item(check.place, own, check.what, check.why)
    if not shared and not done.to_check:
        yield "- nothing"


def _left(done: Imported) -> Iterator[str]:
    yield from ("", "## Not translated", "")
    for left in done.left:
        yield from _item(left.place, left.model, left.what, left.why, left.fix)
    if not done.left:
        yield "- nothing"
    if done.within:
        yield from ("", "No file of their own: they are a part (WITH) of the models that read them.", "")
        yield from [f"- `{place}`: {name}" for name, place in done.within.items()]


def _item(place: str, model: str, what: str, why: str, fix: str = "") -> Iterator[str]:
    yield f"- `{place}`{f' ({model})' if model else ''}: {what}"
    for word, text in (("why", why), ("fix", fix)):
        if text:
            yield f"  - {word}: {text}"


def _proof(models: Sequence[TranslatedModel]) -> Iterator[str]:
    """The commands by which rows are compared with those that the other tool made (docs/adoption.md)."""
    if not models:
        return
    yield from ("", "## Compare with the tables that are there", "")
    yield "Nothing is published by the import. For each model: show the old table, compute beside, compare, then move."
    yield "Spark has to see that: a table of another warehouse is written as Parquet first, and its folder named."
    yield from ("", "```bash", "backfill plan")
    for model in models:
        place = model.table or "DB.TABLE"
        yield f"backfill adopt {model.name} --table {place} --copy"
    for model in models:
        yield f"backfill apply --restate {model.name}:FIRST..LAST"
    yield "backfill diff prod..plan-ID     # by day; then approve and promote (`backfill docs adoption`)"
    yield "```"
