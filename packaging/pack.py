"""Puts the stub and PyInstaller's folder into one executable file.

    python packaging/pack.py <stub> <folder> <output>

The build id is the digest of the archive, so the same program is unpacked once, however often it is built.
"""

import hashlib
import io
import struct
import sys
import tarfile
from pathlib import Path

import zstandard

LEVEL = 19
WINDOW_LOG = 27
MAGIC = b"IGNISSFX"


def main(stub: Path, folder: Path, output: Path) -> int:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in [folder, *sorted(folder.rglob("*"))]:
            entry = tar.gettarinfo(path, str(path.relative_to(folder.parent)))
            entry.mtime = entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            if entry.islnk():
                # gettarinfo makes a second name of one inode a link; the stub wants its bytes.
                entry.type, entry.size = tarfile.REGTYPE, path.stat().st_size
            if entry.isreg():
                with path.open("rb") as content:
                    tar.addfile(entry, content)
            else:
                tar.addfile(entry)
    raw = archive.getvalue()
    build_id = hashlib.sha256(raw).hexdigest()[:32].encode()
    parameters = zstandard.ZstdCompressionParameters.from_level(
        LEVEL,
        source_size=len(raw),
        window_log=WINDOW_LOG,
        enable_ldm=True,
        threads=-1,
        write_content_size=True,
        write_checksum=True,
    )
    payload = zstandard.ZstdCompressor(compression_params=parameters).compress(raw)
    part = output.with_name(f"{output.name}.part")
    part.write_bytes(stub.read_bytes() + payload + struct.pack("<Q32s8s", len(payload), build_id, MAGIC))
    part.chmod(0o755)
    part.replace(output)
    print(f"{output}: {output.stat().st_size / 1e6:.1f} MB, {len(raw) / 1e6:.1f} MB unpacked")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))
