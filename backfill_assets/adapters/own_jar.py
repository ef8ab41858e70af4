"""Is a jar that came with this release the one that was published? By its SHA-256, before a JVM loads it.

Each is made of the Java source beside it, byte for byte, by `python -m backfill_assets_tests.own_jars`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from backfill_assets.core.errors import SettingsError


@dataclass(frozen=True, slots=True)
class OwnJar:
    """A jar of the package; `sources` are the files that it is made of."""

    path: Path
    sha256: str

    @property
    def sources(self) -> list[Path]:
        return sorted(self.path.parent.rglob("*.java"))

    def checked(self) -> Path:
        """Where it is. Raises SettingsError when it is not the one that came with this release."""
        try:
            found = hashlib.sha256(self.path.read_bytes()).hexdigest()
        except OSError as error:
            found = str(error)
        if found != self.sha256:
            raise SettingsError(
                f"{self.path} is not the jar that came with this release",
                why=f"its SHA-256 is {found}, and {self.sha256} was published",
                fix="install backfill-assets again",
            )
        return self.path
