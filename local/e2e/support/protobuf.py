"""Where the parts of a protobuf message are, as far as tests change manifests of tables."""

from __future__ import annotations

import struct


def spans(data: bytes, start: int, end: int) -> dict[int, list[tuple[int, int]]]:
    """Returns from where to where the values of each field of a message are."""
    found = {}
    while start < end:
        tag, start = _varint(data, start)
        stop = start
        match tag & 7:
            case 0:
                _, stop = _varint(data, start)
            case 1:
                stop = start + 8
            case 2:
                length, start = _varint(data, start)
                stop = start + length
            case 5:
                stop = start + 4
        found.setdefault(tag >> 3, []).append((start, stop))
        start = stop
    return found


def index_entry(manifest: bytes, name: str) -> dict[int, list[tuple[int, int]]]:
    """Returns where the fields of the entry of an index are in the file of a manifest.

    The end of the file has the position of the manifest, and its field 6 that of the index section. A
    section begins with its length.
    """
    (at,) = struct.unpack_from("<Q", manifest, len(manifest) - 16)
    position, _ = _varint(manifest, _section(manifest, at)[6][0][0])
    for start, end in _section(manifest, position)[1]:
        entry = spans(manifest, start, end)
        if manifest[slice(*entry[3][0])] == name.encode():
            return entry
    raise KeyError(name)


def _section(manifest: bytes, at: int) -> dict[int, list[tuple[int, int]]]:
    (length,) = struct.unpack_from("<I", manifest, at)
    return spans(manifest, at + 4, at + 4 + length)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at
