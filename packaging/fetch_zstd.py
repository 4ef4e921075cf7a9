"""Fetches zstd's C source (one file and its headers) out of the pinned sdist of `zstandard`, for the stub.

    python packaging/fetch_zstd.py <folder>

A system that has zstd's own development files needs none of it, but a clean machine with a package index only has this.
"""

import hashlib
import io
import os
import sys
import tarfile
from pathlib import Path

from ignis.errors import DownloadError
from ignis.package_index import IndexClient, index_settings, pip_files

PACKAGE = "zstandard"
SDIST = "zstandard-0.25.0.tar.gz"
SHA256 = "7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b"
FILES = ("zstd.c", "zstd.h", "zstd_errors.h", "LICENSE")
LIMIT_BYTES = 8 << 20


def main(folder: Path) -> int:
    client = IndexClient(index_settings(None, os.environ, pip_files(os.environ, sys.prefix)))
    reasons = []
    for link in client.find_files(PACKAGE, lambda name: name == SDIST):
        if isinstance(link, DownloadError):
            reasons.append(link.message)
            continue
        with client.open(link, {}) as response:
            content = response.read(LIMIT_BYTES)
        if hashlib.sha256(content).hexdigest() != SHA256:
            reasons.append(f"{link.url} is not the pinned file")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for name in FILES:
                member = archive.extractfile(f"{SDIST.removesuffix('.tar.gz')}/zstd/{name}")
                assert member is not None
                (folder / name).write_bytes(member.read())
        return 0
    print(f"{SDIST} could not be fetched: {'; '.join(reasons)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
