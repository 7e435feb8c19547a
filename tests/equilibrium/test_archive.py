"""Archives hold what was written, whatever its layout in memory."""

from __future__ import annotations

import io

import numpy as np
import pytest

from accord.equilibrium import archive
from accord.equilibrium.archive import Archive, write_arrays

ARRAYS = {
    "number": np.array(3),
    "text": np.array("a word"),
    "words": np.array(["", "one", "other"]),
    "nothing": np.zeros((0, 5)),
    "rows": np.arange(60.0).reshape(4, 15),
    "columns": np.asfortranarray(np.arange(60.0).reshape(4, 15)),
    "every_other": np.arange(60)[::2],
    "part": np.arange(60.0).reshape(4, 15)[:, 1:],
    "field": np.zeros(9, [("a", np.int32), ("b", np.float64)])["b"],
    "flags": np.array([True, False, True]),
}


@pytest.mark.parametrize("block", [1, 64, 2**20])
def test_arrays_come_back(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "WRITTEN_AT_ONCE", block)
    file = io.BytesIO()
    write_arrays(file, ARRAYS, plain=["rows"])
    file.seek(0)
    with Archive(file) as content:
        assert content.names == set(ARRAYS)
        for name, array in ARRAYS.items():
            found = content[name]
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            assert found.tobytes() == array.tobytes()
            assert content.size(name).nbytes == array.nbytes
