"""Is a stored text of a format that this release knows? What a newer one wrote is refused, never half understood."""

from __future__ import annotations


class NewerError(ValueError):
    """A text is of a newer format."""


def refuse_newer(found: object, known: int) -> None:
    """Raises NewerError for a format after the known one, ValueError for what is no format."""
    if type(found) is not int or found < 1:
        raise ValueError(f"{found!r:.40} is no format")
    if found > known:
        raise NewerError(f"it is of format {found}, which a newer release writes; this one knows {known}")
