"""NumPy archives (``.npz``): arrays by name, of which each is compressed or not, and read alone."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

WRITTEN_AT_ONCE = 2**20
"""How many bytes of an array are written at once."""

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
    """An archive that is open for reading. NumPy, zipfile and zlib each raise their own errors."""

    def __init__(self, file: IO[bytes]) -> None:
        self._content: Any = np.load(file, allow_pickle=False)
        self.names = frozenset(self._content.files)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._content.close()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Unpack an array."""
        array = self._content[name]
        if not isinstance(array, np.ndarray):  # NumPy returns any other member as bytes
            raise ValueError(f"{name} is not an array")
        return array

    def size(self, name: str) -> Size:
        """What an array will be, without unpacking it."""
        member_name = f"{name}.npy"
        with self._content.zip.open(member_name) as member:
            version = np.lib.format.read_magic(member)
            read: Any = np.lib.format.read_array_header_2_0
            if version == (1, 0):
                read = np.lib.format.read_array_header_1_0
            shape, _, dtype = read(member)
        if any(length < 0 for length in shape):
            raise ValueError(f"{name} has a negative size")
        stored = self._content.zip.getinfo(member_name).compress_size
        return Size(shape, dtype.kind, math.prod(shape) * dtype.itemsize, stored)
