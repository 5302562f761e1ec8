"""Processor time (user and system) of processes and of the machine, from /proc."""

from __future__ import annotations

import os
import pathlib

TICK = 1 / os.sysconf("SC_CLK_TCK")


def stat(pid: int) -> list[str]:
    """The fields after the name of the program, which may contain spaces; none if the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def tree(roots: list[int]) -> set[int]:
    """The processes and their descendants."""
    parents = {int(p.name): int(fields[1]) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and (fields := stat(int(p.name)))}
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def used(roots: list[int]) -> float:
    """Seconds that the processes and their descendants have used; ended children count with their parents."""
    return TICK * sum(sum(int(ticks) for ticks in stat(pid)[11:15]) for pid in tree(roots))


def busy() -> float:
    """Seconds that the processors of the machine have worked for any program."""
    user, nice, system, _idle, _wait, interrupts, soft = (int(f) for f in pathlib.Path("/proc/stat").read_text().split()[1:8])
    return TICK * (user + nice + system + interrupts + soft)


def machine() -> str:
    """The processor, the number of cores and the memory. Only runs on the same machine are compared."""
    model = next((l.partition(":")[2].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), os.uname().machine)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB"
