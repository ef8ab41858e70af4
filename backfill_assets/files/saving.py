"""How is a text written that people go on editing?"""

from __future__ import annotations

from pathlib import Path

from backfill_assets.core.errors import StateError


def save_text(path: Path, text: str, *, new: bool = False) -> bool:
    """Write a file, and its folder; with `new`, only one that is not there. Whether it was written. Raises StateError
    where it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if new:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        else:
            path.write_text(text, encoding="utf-8")
    except FileExistsError:
        return False
    except OSError as error:
        raise StateError(
            f"{path} cannot be written", why=error.strerror or str(error), fix="make room for it"
        ) from None
    return True
