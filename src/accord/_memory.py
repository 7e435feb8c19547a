"""How much memory this process may still use.

The least of: the machine's free memory; what is left of the limits of the control groups (versions
1 and 2) that the process is in, as in containers and on clusters; and what is left of the limits
that ``ulimit -v`` and ``ulimit -d`` set.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

NO_LIMIT = 2**60
"""Version 1 writes a number about as large where there is no limit."""


def available_memory() -> int:
    """Bytes that this process may still use."""
    return max(0, min([int(psutil.virtual_memory().available), *_ulimit_room(), *cgroup_room()]))


def _ulimit_room() -> Iterator[int]:
    """What is left of the limits on the address space and on the data of the process."""
    if sys.platform == "win32":
        return
    import resource

    used = psutil.Process().memory_info()
    data = getattr(used, "data", used.rss)  # only Linux tells
    for limit, taken in ((resource.RLIMIT_AS, used.vms), (resource.RLIMIT_DATA, data)):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            yield int(soft - taken)


def cgroup_room(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """What is left of each limit of the control groups that the file ``groups`` lists."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if not controllers:
            names = ("memory.max", "memory.current", "inactive_file")
            yield from _room_up_to(root, place, names)
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _room_up_to(root / "memory", place, names)


def _room_up_to(root: Path, place: str, names: tuple[str, str, str]) -> Iterator[int]:
    """The room in the group and in all groups around it. Inside a container they may be hidden."""
    limit_name, usage_name, cache_name = names
    group = root / place.lstrip("/")
    for folder in (group, *group.parents):
        try:
            limit = (folder / limit_name).read_text().strip()
            if limit != "max" and int(limit) < NO_LIMIT:
                stat = (folder / "memory.stat").read_text().splitlines()
                pairs = (line.split() for line in stat)
                cache = next((int(value) for name, value in pairs if name == cache_name), 0)
                usage = int((folder / usage_name).read_text())
                yield int(limit) - (usage - cache)  # the kernel gives back its cache of files
        except (OSError, ValueError):
            pass
        if folder == root:
            return
