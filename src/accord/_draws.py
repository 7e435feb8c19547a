"""Drawing by inverse CDF: a number in [0, 1) selects the first item whose running sum exceeds it.

If rounding leaves the sum of all probabilities below the number, the last item that has a positive
one is selected. An item of probability 0 never is. Kernels draw with ``treeplex/strategy.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from accord._arrays import Floats


def drawn_from(law: Sequence[float], draw: float) -> int:
    """The item that ``draw`` selects, by the probabilities of a few items."""
    for item, until in enumerate(accumulate(law)):
        if draw < until:
            return item
    return max(item for item, share in enumerate(law) if share > 0.0)


def drawn_until(until: Floats, draw: float) -> int:
    """The item that ``draw`` selects, by the running sums of many positive probabilities."""
    return min(int(np.searchsorted(until, draw, side="right")), len(until) - 1)
