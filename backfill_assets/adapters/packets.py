"""Which folders of packets are in a warehouse, and how does one go? By Arrow's file systems, a folder or a URI."""

from __future__ import annotations

from datetime import UTC, datetime

from backfill_assets.adapters.folder import ArrowFolder, file_system
from backfill_assets.evidence.orphans import PacketFolder
from backfill_assets.evidence.write import MANIFEST, evidence_path


def packet_folders(warehouse: str) -> list[PacketFolder]:
    """Every folder of `evidence/`, with what is in it."""
    from pyarrow.fs import FileSelector, FileType

    system = file_system(evidence_path(warehouse, "").rstrip("/"))
    found: list[PacketFolder] = []
    for info in system.get_file_info(FileSelector("", allow_not_found=True)):
        if info.type is not FileType.Directory:
            continue
        inside = system.get_file_info(FileSelector(info.path, allow_not_found=True, recursive=True))
        files = [i for i in inside if i.type is FileType.File]
        written = [i.mtime for i in files if i.mtime is not None]
        found.append(
            PacketFolder(
                name=info.base_name,
                files=tuple(sorted(i.path.removeprefix(f"{info.path}/") for i in files)),
                bytes=sum(i.size or 0 for i in files),
                written=max(written, default=datetime.now(UTC)),
            )
        )
    return sorted(found, key=lambda f: f.name)


def remove_packet(warehouse: str, packet: PacketFolder) -> None:
    """Delete it, its manifest first: what a crash leaves is a packet that was not finished. Again is harmless."""
    folder = ArrowFolder(evidence_path(warehouse, packet.name))
    for name in sorted(packet.files, key=lambda n: n != MANIFEST):
        folder.delete(name)
    if not folder.names():
        file_system(evidence_path(warehouse, "").rstrip("/")).delete_dir(packet.name)
