"""NumPy archives (``.npz``): arrays by name, of which each is compressed or not, and read alone."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

WRITTEN_AT_ONCE = READ_AT_ONCE = 2**20
"""How many bytes of an array are written or read at once."""

LONGEST_HEADER = 10_000
"""Bytes of the header of an array; NumPy refuses longer ones, too, but only after reading them."""

KINDS = "biufcUS"
"""Types of arrays that are read, as NumPy abbreviates them: numbers and text."""

LEVEL = 1
"""How hard to compress: more takes several times as long and hardly makes mixtures smaller."""


class Size(NamedTuple):
    """An array in an archive that was not unpacked."""

    shape: tuple[int, ...]
    kind: str  # of its items, as NumPy abbreviates it
    nbytes: int  # in memory
    stored: int  # bytes in the file


def write_arrays(
    file: IO[bytes], arrays: Mapping[str, NDArray[Any]], plain: Collection[str] = ()
) -> None:
    """Write an archive with these arrays, of which those called ``plain`` are not compressed."""
    with zipfile.ZipFile(file, "w", compresslevel=LEVEL) as archive:
        for name, array in arrays.items():
            archive.compression = zipfile.ZIP_STORED if name in plain else zipfile.ZIP_DEFLATED
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write_array(member, np.asarray(array))


def _write_array(member: IO[bytes], array: NDArray[Any]) -> None:
    """Write one array; NumPy's own function would copy sixteen megabytes at a time."""
    if array.flags.fnc:  # columns first, which the header would have to say
        array = np.ascontiguousarray(array)
    header: Any = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(member, header)
    if array.flags.c_contiguous:
        array = array.reshape(-1)
    for first in range(0, len(array), step := max(1, WRITTEN_AT_ONCE // max(1, array[:1].nbytes))):
        block = np.ascontiguousarray(array[first : first + step])
        member.write(block.reshape(-1).view(np.uint8).data)


class Archive:
    """An archive that is open for reading.

    Nobody knows who wrote it, so nothing is unpacked because of its name alone: the header of an
    array must be short and promise exactly the bytes that the archive has for it. zipfile, zlib and
    NumPy each raise their own errors.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file)
        members = [name for name in self._zip.namelist() if name.endswith(".npy")]
        self.names = frozenset(name.removesuffix(".npy") for name in members)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Unpack an array, which takes as much memory as its :meth:`size` says."""
        with self._open(name) as member:
            shape, columns_first, dtype = _read_header(name, member)
            if dtype.kind not in KINDS:
                raise ValueError(f"{name} must have numbers or text")
            array = np.empty(shape, dtype, order="F" if columns_first else "C")
            flat = (array.T if columns_first else array).reshape(-1)
            unread = flat.view(np.uint8).data if flat.nbytes else memoryview(b"")
            while unread:
                got = member.read(min(len(unread), READ_AT_ONCE))
                if not got:
                    raise ValueError(f"{name} ends too early")
                unread[: len(got)] = got
                unread = unread[len(got) :]
            if member.read(1):  # also checks the checksum
                raise ValueError(f"{name} ends too late")
        return array

    def size(self, name: str) -> Size:
        """What an array will be, without unpacking it."""
        with self._open(name) as member:
            shape, _, dtype = _read_header(name, member)
            header = member.tell()
        nbytes, info = math.prod(shape) * dtype.itemsize, self._zip.getinfo(f"{name}.npy")
        if dtype.kind in KINDS and nbytes != info.file_size - header:
            raise ValueError(f"{name} must have {nbytes} bytes, but has another number")
        return Size(shape, dtype.kind, nbytes, info.compress_size)

    def _open(self, name: str) -> IO[bytes]:
        method = self._zip.getinfo(f"{name}.npy").compress_type
        if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed in a way that Accord and NumPy do not write")
        return self._zip.open(f"{name}.npy")


def _read_header(name: str, member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape of an array, whether its columns come first, and its type."""
    magic = member.read(np.lib.format.MAGIC_LEN)
    version = np.lib.format.read_magic(io.BytesIO(magic))
    digits = member.read(2 if version == (1, 0) else 4)
    if (length := int.from_bytes(digits, "little")) > LONGEST_HEADER:
        raise ValueError(f"{name} has a header of {length} bytes")
    read: Any = np.lib.format.read_array_header_2_0
    if version == (1, 0):
        read = np.lib.format.read_array_header_1_0
    shape, columns_first, dtype = read(io.BytesIO(digits + member.read(length)))
    if any(one < 0 for one in shape):
        raise ValueError(f"{name} has a negative size")
    return shape, columns_first, dtype
