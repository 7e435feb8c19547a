"""Benchmarks of Accord against its peers: ``python -m benchmarks``, or ``make bench``.

Everything is measured in one process, on one thread, in CPU time. What is compared runs in turns,
so that whatever else the machine does hits all alike; medians over the turns are reported.
"""

import os

for library in ("OMP", "OPENBLAS", "MKL"):  # before NumPy is imported: they would start threads
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
