"""How are plain files read and written where the warehouse is, a folder or a URI? Through Arrow's file systems."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from backfill_assets.adapters.durable import write_durably
from backfill_assets.files.no_access import no_access
from backfill_assets.project.object_store import arrow_path, reaching

if TYPE_CHECKING:
    from pyarrow.fs import SubTreeFileSystem


class ArrowFolder:
    """A Folder at a local path or a URI. A file is there whole or not at all."""

    def __init__(self, location: str) -> None:
        self.location = location.removeprefix("file://").rstrip("/")

    def names(self) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        with self._reaching():
            found = file_system(self.location).get_file_info(FileSelector("", allow_not_found=True, recursive=True))
        return sorted(i.path for i in found if i.type is FileType.File)

    def read(self, name: str) -> bytes | None:
        try:
            with self._reaching(name), file_system(self.location).open_input_stream(name) as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            if "://" not in self.location and Path(self.location, name).is_dir():  # what belongs there is not
                return None
            raise

    def write(self, name: str, content: bytes) -> None:
        if "://" not in self.location:  # an object store shows an object when it is complete; a local file grows
            with self._reaching(name):
                write_durably(Path(self.location, name), content)
            return
        with reaching(self.location), file_system(self.location).open_output_stream(name) as stream:
            stream.write(content)

    def delete(self, name: str) -> None:
        if self.read(name) is not None:
            with self._reaching(name):
                file_system(self.location).delete_file(name)

    @contextmanager
    def _reaching(self, name: str = "") -> Generator[None]:
        """Raises SettingsError for a store that is out of reach, NoAccessError for what this account may not use."""
        with reaching(self.location):
            try:
                yield
            except PermissionError as error:
                if "://" in self.location:
                    raise
                raise no_access(error.filename or Path(self.location, name)) from None


def file_system(location: str) -> SubTreeFileSystem:
    """Arrow's own file system, rooted at a folder. Through delta-rs's, which is Python's, about one process in twenty
    aborts at its end: an Arrow thread that still frees a buffer asks for the interpreter's lock."""
    from pyarrow.fs import SubTreeFileSystem

    system, path = arrow_path(location)
    return SubTreeFileSystem(path, system)
