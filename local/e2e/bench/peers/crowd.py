"""Clients that search side by side, each as fast as it is answered."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable

from peers import cpu

WARM_SECONDS = 5  # at most, before the clients are counted


class Crowd:
    """Threads, or processes that are forked or spawned. They stay for several runs, because the imports of some take seconds."""

    def __init__(self, how: str, size: int, roots: Callable[[], list[int]] | None):
        """roots returns the processes of the engine, whose time is counted; None if the engine runs in its clients."""
        channel, start = queue.SimpleQueue, threading.Thread
        if how != "threads":
            context = multiprocessing.get_context(how)
            channel, start = context.SimpleQueue, context.Process
        self.tasks, self.answers = ([channel() for _ in range(size)] for _ in range(2))
        self.clients = [start(target=work, args=(n, self.tasks[n], self.answers[n]), daemon=True) for n in range(size)]
        self.started = False
        self.roots = roots or (lambda: [client.pid for client in self.clients])

    def run(self, prepare: Callable[[int], tuple[list[Callable], Callable]], seconds: float) -> dict:
        """Runs all clients and returns their joint figures. prepare returns the calls of the client with a number, and how to end it."""
        if not self.started:  # not earlier, because their imports would be a part of the first build
            for client in self.clients:
                client.start()
            self.started = True
        self._tell(prepare)
        ready = self._hear()
        roots, own = self.roots(), [os.getpid()]
        began, before = time.perf_counter(), (cpu.used(roots), cpu.busy(), cpu.used(own))
        self._tell(seconds)
        time.sleep(max(0.0, seconds - (time.perf_counter() - began)))
        engine, machine, known = (now - then for now, then in zip((cpu.used(roots), cpu.busy(), cpu.used(own)), before))
        counts = self._hear()
        check(ready + counts)
        total = sum(counts)
        if not total:
            raise RuntimeError(f"no query of {len(counts)} clients was answered within {seconds:.0f} s (--seconds)")
        if not set(roots) <= cpu.tree(own):
            known += engine  # of a server that is no descendant of this process
        others = max(0.0, machine - known) / (seconds * (os.cpu_count() or 1))
        return {"q/s": total / seconds, "cpu ms": engine / total * 1e3, "machine ms": machine / total * 1e3, "others": others}

    def _tell(self, what) -> None:
        for tasks in self.tasks:
            tasks.put(what)

    def _hear(self) -> list:
        return [answers.get() for answers in self.answers]


def check(heard: list) -> None:
    for problem in heard:
        if isinstance(problem, str):
            raise RuntimeError(f"a client failed: {problem}")


def work(number: int, tasks, answers) -> None:
    """The life of a client: it prepares its calls, waits for the others, and counts the calls that it completes in time.
    It answers twice even after a failure, so that the next run can follow."""
    while True:
        calls, problem = [], ""
        try:
            calls, end = tasks.get()(number)
            warm = time.perf_counter() + WARM_SECONDS
            for call in calls:
                call()
                if time.perf_counter() > warm:
                    break
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        answers.put(problem or 0)
        seconds = tasks.get()
        try:
            answer = problem or count(calls, seconds)
            if not problem:
                end()
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        answers.put(answer)


def count(calls: list[Callable], seconds: float) -> int:
    deadline, done = time.perf_counter() + seconds, 0
    while True:
        calls[done % len(calls)]()
        if time.perf_counter() > deadline:
            return done
        done += 1
