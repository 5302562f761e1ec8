"""Runs one engine in a process of its own, so that it shares nothing with others and a failure ends only itself."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from peers import cpu

# The paths of the classes: only the process that measures an engine imports it.
VECTORS = {
    "ours": "peers.ours.Ours",
    "lancedb": "peers.lance_engine.Lance",
    "pgvector": "peers.pgvector.Pgvector",
    "faiss": "peers.faiss_engine.Faiss",
    "hnswlib": "peers.hnswlib_engine.Hnswlib",
    "chroma": "peers.chroma.Chroma",
    "milvus-lite": "peers.milvus.Milvus",
}
TEXTS = {
    "ours": "peers.ours_texts.OursTexts",
    "lancedb": "peers.lance_engine.LanceTexts",
    "tantivy": "peers.tantivy_engine.TantivyTexts",
}
HOURS = 2  # for one engine


def spawn(memory: pathlib.Path, task: dict) -> list[dict]:
    """Measures an engine and returns its results. A failure is also a result; the results before it are kept."""
    with tempfile.TemporaryDirectory(prefix=f"{task['engine']}-", dir=memory) as place:
        results = pathlib.Path(place) / "results"
        os.chmod(place, 0o755)  # Postgres runs as another user
        whole = task | {"place": place, "results": str(results)}
        process = subprocess.Popen([sys.executable, sys.argv[0], "--child", json.dumps(whole)], stdout=sys.stderr)
        problem = ""
        try:
            if code := process.wait(HOURS * 3600):
                problem = f"its process ended with {code}"
        except subprocess.TimeoutExpired:
            problem = f"it took more than {HOURS} hours"
        finally:
            end(process)
        done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
        if problem and not any("failed" in result for result in done):
            done.append({"failed": problem})
        return [{"engine": task["engine"]} | result for result in done]


def end(process: subprocess.Popen) -> None:
    """Ends the process and its descendants."""
    if process.poll() is None:
        for pid in sorted(cpu.tree([process.pid]), reverse=True):
            os.kill(pid, signal.SIGKILL)
        process.wait()


def run(task: dict) -> None:
    """The main function of the process of an engine."""
    began = time.monotonic()
    os.environ["TMPDIR"] = task["place"]

    def result(fields: dict) -> None:
        with open(task["results"], "a") as results:
            results.write(json.dumps(fields) + "\n")

    try:
        {"vectors": vectors, "texts": text, "fixed": fixed}[task["what"]](task, result)
    except Exception as problem:
        result(failure(problem))
    print(f"{task['engine']}, {task['what']}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def failure(problem: Exception) -> dict:
    traceback.print_exc()
    return {"failed": f"{type(problem).__name__}: {str(problem).strip()[:300]}"}


def load(path: str) -> type:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def vectors(task: dict, result) -> None:
    from peers.engine import Data
    from peers.measure import crowd_of, measure, timed

    place, name = pathlib.Path(task["place"]), task["engine"]
    engine = load(VECTORS[name])(place, Data(pathlib.Path(task["data"])))
    try:
        loaded = timed(engine.load, lambda: engine.processes)
        result({"kind": "", "version": engine.version, "figures": {f"load {unit}": value for unit, value in loaded.items()}})
        crowd = crowd_of(engine)
        for kind in engine.KINDS:
            if kind.name in task["kinds"] if task["kinds"] else not kind.extra:
                try:
                    result({"kind": kind.name} | measure(name, engine, kind, crowd, task["seconds"]))
                except Exception as problem:  # the next kind may succeed
                    result({"kind": kind.name} | failure(problem))
    finally:
        engine.close()


def text(task: dict, result) -> None:
    from peers import texts

    engine = load(TEXTS[task["engine"]])(pathlib.Path(task["place"]))
    try:
        result({"kind": "texts", "figures": texts.measure(engine, texts.documents(task["documents"]))})
    finally:
        engine.close()


def fixed(task: dict, result) -> None:
    from peers import fixed, texts

    figures = fixed.measure(pathlib.Path(task["place"]), task["rows"], texts.documents(task["documents"]), task["seconds"])
    result({"kind": "requests", "figures": figures})
