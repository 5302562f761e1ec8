"""What the programs of this folder share: steps of work on a cluster, in each of which a worker is killed.

Only Python's own modules, because Spark has an environment of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable

TRIES = 3
SAMPLE_SECONDS = 0.1
BUSY_SECONDS = 0.05  # processor time after which a process is in the middle of its work


class Watch(threading.Thread):
    """Adds up the processor time of this process and its descendants. Kills one of them that works and whose title
    contains the text in victim, which is then emptied."""

    def __init__(self):
        super().__init__(daemon=True)
        self.victim = ""
        self.killed = ""
        self._seconds: dict[int, float] = {}
        self._began: dict[int, float] = {}  # the seconds with which a process came in question

    def aim(self, victim: str) -> None:
        self._began.clear()
        self.victim, self.killed = victim, ""

    def seconds(self) -> float:
        return sum(list(self._seconds.values()))

    def run(self) -> None:
        tick = os.sysconf("SC_CLK_TCK")
        while True:
            for process in descendants():
                try:
                    with open(f"/proc/{process}/stat") as stat, open(f"/proc/{process}/cmdline") as command:
                        times, title = stat.read().rpartition(") ")[2].split(), command.read().replace("\0", " ")
                except OSError:
                    continue
                self._seconds[process] = (int(times[11]) + int(times[12])) / tick
                if not self.victim or self.victim not in title or process == os.getpid():
                    continue
                if self._seconds[process] - self._began.setdefault(process, self._seconds[process]) >= BUSY_SECONDS:
                    self.killed, self.victim = self.victim, ""
                    os.kill(process, signal.SIGKILL)
            time.sleep(SAMPLE_SECONDS)


def descendants() -> list[int]:
    parents = [line.split() for line in subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True).stdout.splitlines()]
    found = [os.getpid()]
    for process in found:
        found += [int(child) for child, parent in parents if int(parent) == process]
    return found


WATCH = Watch()
WATCH.start()


def step(name: str, victim: str, work: Callable[[], object], *, committed: Callable[[], bool] = lambda: False) -> object:
    """Does the work while a process whose title contains victim is killed, and repeats it if it fails. committed
    returns whether a failed try has been committed all the same. Prints a line of JSON about the step."""
    began, processor, error, found = time.monotonic(), WATCH.seconds(), "", None
    WATCH.aim(victim)
    for tries in range(1, TRIES + 1):
        try:
            found = work()
            break
        except Exception as failure:
            error = error or f"{type(failure).__name__}: {failure}".splitlines()[0][:200]
            if committed():
                break
            if tries == TRIES:
                raise
    WATCH.victim = ""
    time.sleep(SAMPLE_SECONDS)
    seconds, processor = time.monotonic() - began, WATCH.seconds() - processor
    say(step=name, seconds=round(seconds, 1), cpu=round(processor, 1), tries=tries, killed=WATCH.killed, error=error)
    return found


def say(**fields) -> None:
    print(json.dumps(fields), flush=True)
