"""A run of ``solve``, ``learn``, ``optimize`` or ``region`` from request to result: the loop,
checkpoints, folders, sweeps."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
