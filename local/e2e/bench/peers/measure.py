"""Measures one engine in this process: the build of each kind, its ladder of efforts, and many clients with the chosen ones."""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from peers import cpu
from peers.crowd import Crowd
from peers.engine import NEAREST, Client, Data, Engine, Kind, label

LEVELS = (0.95, 0.98, 0.99)  # of recall
ENOUGH = 0.999  # of recall: more effort is not tried
CLIENTS = 8
SAME = 1.05  # up to this factor, medians of efforts count as equal
TIMED_SECONDS = 2  # at most for the median of an effort


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def timed(work: Callable, roots: Callable[[], list[int]]) -> dict:
    """Seconds and processor seconds of some work. roots is called before and after, because the processes may change."""
    began, before = time.perf_counter(), cpu.used(roots())
    work()
    return {"s": time.perf_counter() - began, "cpu s": cpu.used(roots()) - before}


def measure(name: str, engine: Engine, kind: Kind, crowd: Crowd, seconds: float) -> dict:
    """The figures of a kind, and its curve: the recall and milliseconds of each effort."""
    built = timed(lambda: engine.build(kind), lambda: engine.processes)
    figures = {f"build {unit}": value for unit, value in built.items()}
    say(f"{name} {kind.name}: built in {built['s']:.1f} s, {built['cpu s']:.1f} s of processor time")
    client = engine.client(kind)
    client.open()
    curve = climb(client, kind, engine.data)
    client.close()
    efforts = {}
    for level in LEVELS:
        enough = [step for step in curve if step["recall"] >= level]
        if enough:
            efforts[f"≥ {level:.2f}".replace("0.", ".")] = least(enough)
    if kind.also is not None:
        efforts[label(kind.also)] = next(step for step in curve if step["effort"] == kind.also)
    done: dict[str, dict] = {}
    chosen = {}
    for why, step in efforts.items():
        what = label(step["effort"])
        if what not in done:
            queries = np.ascontiguousarray(engine.data.queries)
            done[what] = crowd.run(functools.partial(searching, engine.client(kind), step["effort"], queries), seconds)
            say(f"{name} {kind.name} {what}: recall {step['recall']:.3f}, {step['ms']:.2f} ms, {done[what]['q/s']:.0f} q/s by {CLIENTS} clients")
        chosen[why] = what
        numbers = {"recall": step["recall"], "ms": step["ms"]} | done[what]
        figures |= {f"{figure} at {why}": value for figure, value in numbers.items()}
    if not chosen:
        say(f"{name} {kind.name}: no effort has recall {LEVELS[0]}: at most {max(step['recall'] for step in curve):.3f}")
    return {"figures": figures, "efforts": chosen, "curve": [{**step, "effort": label(step["effort"])} for step in curve]}


def least(enough: list[dict]) -> dict:
    """The fastest effort. Of several that are about as fast it is the first, because their order is chance."""
    fastest = min(step["ms"] for step in enough)
    return next(step for step in enough if step["ms"] <= SAME * fastest)


def climb(client: Client, kind: Kind, data: Data) -> list[dict]:
    """Tries the efforts until two in a row have ENOUGH recall. The first pass over the queries warms the second."""
    curve, full = [], 0
    queries = np.ascontiguousarray(data.queries)
    wanted = [set(row.tolist()) for row in data.exact]
    for effort in kind.efforts:
        if full >= 2 and effort != kind.also:
            continue
        calls = client.calls(effort, queries)
        found = sum(len(set(client.ids(call())) & want) for call, want in zip(calls, wanted))
        recall, times, deadline = found / (NEAREST * len(wanted)), [], time.monotonic() + TIMED_SECONDS
        for call in calls:
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
            if time.monotonic() > deadline:
                break
        curve.append({"effort": effort, "recall": recall, "ms": statistics.median(times) * 1e3})
        full = full + 1 if recall >= ENOUGH else 0
    return curve


def searching(client: Client, effort: dict, queries: np.ndarray, number: int) -> tuple[list[Callable], Callable]:
    """The calls of one of many clients, which begin at different queries."""
    client.open()
    return client.calls(effort, np.roll(queries, number * len(queries) // CLIENTS, axis=0)), client.close


def crowd_of(engine: Engine) -> Crowd:
    inside = engine.CLIENTS != "threads" and not engine.SERVER
    return Crowd(engine.CLIENTS, CLIENTS, None if inside else lambda: engine.processes)
