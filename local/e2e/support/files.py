"""Files of tables, wherever the server keeps them: in a directory, or in S3 with the
environment's options (see conftest.py)."""

from __future__ import annotations

import os
import posixpath
import urllib.parse

from pyarrow import fs


class Folder:
    """A folder at a location that the server returned."""

    def __init__(self, location: str):
        self.location = location.rstrip("/")
        scheme, _, path = self.location.rpartition("://")
        self.path = path  # for the file system; begins with the bucket, or with a slash
        if scheme != "s3":
            self.system = fs.LocalFileSystem()
            return
        endpoint = urllib.parse.urlsplit(os.environ.get("AWS_ENDPOINT_URL", ""))
        self.system = fs.S3FileSystem(
            endpoint_override=endpoint.netloc or None,
            scheme=endpoint.scheme or "https",
            region=os.environ.get("AWS_REGION"),
        )

    @property
    def key(self) -> str:
        """The place as the protocol has it: from the root of the bucket or of the disk on."""
        return self.path.lstrip("/") if self.path.startswith("/") else self.path.partition("/")[2]

    def __truediv__(self, name: str) -> Folder:
        return Folder(f"{self.location}/{name}")

    def files(self) -> dict[str, int]:
        """The sizes of all files in the folder and those below, by name."""
        found = self.system.get_file_info(fs.FileSelector(self.path, recursive=True, allow_not_found=True))
        return {posixpath.relpath(f.path, self.path): f.size for f in found if f.type == fs.FileType.File}

    def copy_to(self, other: Folder) -> None:
        """Copies a file, or a folder with everything in it."""
        if self.system.get_file_info(self.path).type == fs.FileType.Directory:
            fs.copy_files(self.path, other.path, self.system, other.system)
            return
        with self.system.open_input_stream(self.path) as source, other.system.open_output_stream(other.path) as target:
            target.write(source.read())

    def remove(self) -> None:
        """Removes a file."""
        self.system.delete_file(self.path)
