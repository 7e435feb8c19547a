"""A connection to a Ray cluster.

Ray (https://docs.ray.io) is optional and is imported here only. What is sent to a cluster goes by
value with the modules it comes from, except for installed packages and Accord itself, which every
machine of the cluster must have.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from accord.errors import ArgumentError, MissingDependencyError

LOCAL, AUTO = "local", "auto"

CONNECT_SECONDS = 5.0
"""How long to wait for a cluster to answer at its address."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected within this context. An open connection is used if there is one.

    Args:
        address: ``"local"`` for a cluster on all cores of this machine, which ends with this
            context; ``"auto"`` for the one that runs on this machine already; or ``"HOST:PORT"``.

    Raises:
        ArgumentError: If no cluster answers there.
        MissingDependencyError: If Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no statistics
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise MissingDependencyError("ray", "ray") from None
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        options["include_dashboard"] = False
    elif address != AUTO:
        _check_reachable(address)
    try:
        ray.init(address, **options)
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ArgumentError(f"Ray at {address!r} cannot be used: {reason}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Refuse an address at which nothing listens; Ray itself would try for many minutes."""
    host, _, port = str(address).rpartition(":")
    if not host or not re.fullmatch("[0-9]{1,5}", port):
        raise ArgumentError(
            f"the address of a Ray cluster must be {LOCAL!r}, {AUTO!r} or HOST:PORT; "
            f"got {address!r}"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ArgumentError(
            f"no Ray cluster answers at {address!r}: {error}; `ray status` on its head shows "
            "the address"
        ) from None


@contextmanager
def by_value(ray: Any) -> Iterator[None]:
    """In this context pickles contain the code of all modules that are not installed."""
    modules = [module for module in list(sys.modules.values()) if _is_own(module)]
    for module in modules:
        ray.cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            ray.cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: Any) -> bool:
    """Whether ``module`` is a file of the user's, not of Python, an installed package or Accord."""
    name, file = getattr(module, "__name__", None), getattr(module, "__file__", None)
    if not isinstance(module, ModuleType) or not isinstance(name, str) or not file:
        return False
    if name.partition(".")[0] in ("__main__", "accord") or sys.modules.get(name) is not module:
        return False
    path, library = Path(file).resolve(), Path(sysconfig.get_path("stdlib")).resolve()
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not installed and not path.is_relative_to(library)
