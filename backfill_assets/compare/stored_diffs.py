"""Was that compared already? A comparison that is stored answers a question about the same rows in the same way."""

from __future__ import annotations

from backfill_assets.compare.diff import ModelDiff
from backfill_assets.compare.questions import Question


def stored_answer(known: ModelDiff, question: Question) -> bool:
    """Whether a comparison is of exactly the question's rows, and tells of them what it asks: commits do not change.

    Views that list other columns by now, and what is masked by now and was not then, have to be asked again.
    """
    asked = question.unread()
    rows = ("old", "new", "compared", "proofs", "only_old", "only_new", "until")
    names = ("model", "grain", "time_column", "tolerance", *rows)
    if any(getattr(known, name) != getattr(asked, name) for name in names):
        return False
    marker = {question.model.updated_at.lower()} if question.model.updated_at else set[str]()
    sides = ((question.old, "old_type"), (question.new, "new_type"))
    for pointer, side in sides:
        listed = {c.name.lower() for c in known.columns if getattr(c, side) is not None}
        if listed | marker != {name.lower() for name, _ in (pointer.columns if pointer else ())} | marker:
            return False
    masked = {c.name.lower() for c in known.columns if c.masked}
    told = [s.column.lower() for s in known.slices]
    return masked == {c.name.lower() for c in known.columns} & question.mask and told == [
        name.lower() for name in question.slices
    ]
