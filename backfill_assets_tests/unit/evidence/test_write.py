"""A packet is written whole, is the same for the same facts, is sealed by a promotion, and every changed byte shows."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.core.errors import StateError
from backfill_assets.evidence.make import make
from backfill_assets.evidence.verify import verify
from backfill_assets.evidence.write import FILES, MANIFEST, as_json, packet_digest, problems_of, write_packet
from backfill_assets_tests.packets import MemoryFolder, some_inputs

_, PACKET_FILES = make(some_inputs())


def _more(of: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(of) | st.dictionaries(st.text(), of)


def a_packet() -> MemoryFolder:
    folder = MemoryFolder()
    write_packet(folder, "7f3c", PACKET_FILES, sealed=False)
    return folder


def test_the_same_facts_write_nothing_again(tmp_path: Path) -> None:
    """The second time every file is left as it is, and the digest is the same."""
    folder = ArrowFolder(str(tmp_path / "evidence" / "7f3c"))
    first = write_packet(folder, "7f3c", PACKET_FILES, sealed=False)
    before = {p.name: p.stat().st_mtime_ns for p in Path(folder.location).iterdir()}
    again = write_packet(folder, "7f3c", make(some_inputs())[1], sealed=True)
    assert first.changed and not again.changed and first.digest == again.digest == packet_digest(folder)
    assert {p.name: p.stat().st_mtime_ns for p in Path(folder.location).iterdir()} == before
    assert set(before) == {*FILES, MANIFEST}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), _more))
def test_json_is_laid_out_and_the_same(value: object) -> None:
    """Whatever it holds; equal content gives equal bytes."""
    made = as_json(value)
    assert json.loads(made) == value and as_json(json.loads(made)) == made


def test_json_has_a_line_for_each_row() -> None:
    """As people and `diff` read it."""
    files = [{"path": "x", "bytes": 1}, {"path": "y", "bytes": 2}]
    assert as_json({"tables": [{"model": "a", "files": files}], "n": {}}).decode() == (
        '{\n "tables": [\n  {\n   "model": "a",\n   "files": [\n    {"path": "x", "bytes": 1},\n'
        '    {"path": "y", "bytes": 2}\n   ]\n  }\n ],\n "n": {}\n}\n'
    )


def test_a_packet_of_an_earlier_release_is_whole() -> None:
    """Which laid its files out in another way: its manifest says what they are."""

    def laid_out(name: str, content: bytes) -> bytes:
        return json.dumps(json.loads(content), indent=1).encode() if name.endswith(".json") else content

    folder = MemoryFolder()
    write_packet(folder, "7f3c", {n: laid_out(n, content) for n, content in PACKET_FILES.items()}, sealed=False)
    assert not problems_of(folder)
    assert folder.files[MANIFEST].decode().startswith('{\n "packet": 1,\n "plan": "7f3c",\n "files": {\n  ')


def test_new_facts_replace_it_until_it_is_sealed() -> None:
    """An approval that came later is in the next packet; after the promotion another packet is refused."""
    folder = a_packet()
    first = packet_digest(folder)
    _, later = make(some_inputs(approvals=()))
    assert write_packet(folder, "7f3c", later, sealed=False).changed
    assert packet_digest(folder) != first
    with pytest.raises(StateError, match="is sealed"):
        write_packet(folder, "7f3c", PACKET_FILES, sealed=True)
    assert folder.files == {**later, MANIFEST: folder.files[MANIFEST]}


def test_a_sealed_packet_that_was_damaged_is_not_mended_silently() -> None:
    """The refusal names the file."""
    folder = a_packet()
    folder.files["release_note.md"] += b" "
    with pytest.raises(StateError) as refused:
        write_packet(folder, "7f3c", PACKET_FILES, sealed=True)
    assert "release_note.md was changed" in str(refused.value)


def test_a_sealed_packet_without_its_manifest_is_not_made_anew() -> None:
    """Who removes the manifest gets no other packet; one that a crash left half written is finished."""
    folder = a_packet()
    del folder.files[MANIFEST]
    _, other = make(some_inputs(approvals=()))
    with pytest.raises(StateError, match="is sealed"):
        write_packet(folder, "7f3c", other, sealed=True)
    assert write_packet(folder, "7f3c", PACKET_FILES, sealed=True).changed and not problems_of(folder)


@pytest.mark.parametrize("writes", range(len(FILES) + 1))
def test_killed_anywhere_it_is_told_and_finished_by_the_next(writes: int) -> None:
    """A writer that dies after some files leaves no packet that anybody takes for one."""

    class Dies(MemoryFolder):
        left = writes

        def write(self, name: str, content: bytes) -> None:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            super().write(name, content)

    folder = Dies(a_packet().files)
    _, later = make(some_inputs(approvals=()))
    with pytest.raises(KeyboardInterrupt):
        write_packet(folder, "7f3c", later, sealed=False)
    assert not verify(folder, None).ok and "was not finished" in verify(folder, None).problems[0]
    folder.left = 100
    write_packet(folder, "7f3c", later, sealed=False)
    assert verify(folder, None).ok


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_warehouse_that_cannot_be_written(number: int) -> None:
    """Read-only, not permitted, full: the reason, and what to do; no packet that anybody takes for one is left."""

    class Refuses(MemoryFolder):
        def write(self, name: str, content: bytes) -> None:
            raise OSError(number, os.strerror(number))

    folder = Refuses()
    with pytest.raises(StateError, match="the packet of plan 7f3c cannot be written to") as error:
        write_packet(folder, "7f3c", PACKET_FILES, sealed=False)
    assert error.value.why == os.strerror(number) and "run the same command again" in error.value.fix
    assert not verify(folder, None).ok


@given(st.sampled_from([*FILES, MANIFEST]), st.data())
def test_any_changed_byte_is_told_by_name(name: str, data: st.DataObject) -> None:
    """Whatever byte of whatever file is another one, verification fails and names the file."""
    folder = a_packet()
    whole = packet_digest(folder)
    content = bytearray(folder.files[name])
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    folder.files[name] = bytes(content)
    found = verify(folder, None, expected=whole)
    assert not found.ok
    assert any(name in problem or MANIFEST in problem for problem in found.problems)
    with pytest.raises(StateError):
        packet_digest(folder)


def test_missing_and_foreign_files_are_told() -> None:
    """A file that is gone, one that was added, and a manifest that leaves one out."""
    folder = a_packet()
    del folder.files["packet.html"]
    folder.files["more.txt"] = b"x"
    assert problems_of(folder) == ["packet.html is missing", "more.txt does not belong to the packet"]
    folder = a_packet()
    said = json.loads(folder.files[MANIFEST])
    del said["files"]["cutover_message.md"]
    folder.files[MANIFEST] = json.dumps(said).encode()
    assert f"{MANIFEST} does not name cutover_message.md, which every packet has" in problems_of(folder)


def test_a_forged_packet_is_told_by_the_promotions_digest() -> None:
    """A whole other packet, manifest and all, passes by itself, but not against what the commit names."""
    folder = a_packet()
    named = packet_digest(folder)
    forged: Mapping[str, bytes] = make(some_inputs(approvals=()))[1]
    write_packet(folder, "7f3c", forged, sealed=False)
    assert verify(folder, None).ok
    assert "another than the one that the promotion's commit names" in verify(folder, None, expected=named).problems[0]


def test_an_object_store_is_written_through_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warehouse at a URI: the same packet, read back and verified."""
    from pyarrow.fs import FileSystem, SubTreeFileSystem

    bucket, _ = FileSystem.from_uri("mock:///bucket")
    bucket.create_dir("bucket/evidence/7f3c")
    store = SubTreeFileSystem("bucket/evidence/7f3c", bucket)
    monkeypatch.setattr("backfill_assets.adapters.folder.file_system", lambda location: store)
    folder = ArrowFolder("gs://bucket/evidence/7f3c")
    written = write_packet(folder, "7f3c", PACKET_FILES, sealed=False)
    assert packet_digest(folder) == written.digest and verify(folder, None).ok
    assert folder.names() == sorted([*FILES, MANIFEST])


@pytest.mark.parametrize("name", [MANIFEST, "packet.json"])
def test_a_folder_in_the_place_of_a_file(tmp_path: Path, name: str) -> None:
    """It is as good as no file."""
    folder = ArrowFolder(str(tmp_path))
    write_packet(folder, "7f3c", PACKET_FILES, sealed=False)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    assert folder.read(name) is None
    assert any(f"{name} is missing" in problem for problem in problems_of(folder))
