"""Compares our server with its alternatives: searches of vectors and texts, ours over HTTP.

Each engine runs in a process of its own, alone, on data in memory. Each index is searched with a ladder of
efforts. For each level of recall, the fastest effort that reaches it is measured: milliseconds for one client,
queries a second and processor time for eight. Prints tables in Markdown, and the progress on the standard
error. A run of all engines also draws docs/speed.png and adds its figures to docs/speed-history.jsonl.

    python bench_peers.py [--quick] [--sizes 100000x128,100000x768] [--only ours,pgvector] [--kinds IVF_PQ,HNSW]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import sys
import tempfile

from peers import child

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
MEMORY = pathlib.Path("/dev/shm")
QUICK_ROWS, QUICK_QUERIES, QUICK_SECONDS = 5_000, 40, 1.0


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--dim", type=int, default=128)
    options.add_argument("--sizes", help="in place of both: 100000x128,100000x768,1000000x128")
    options.add_argument("--queries", type=int, default=200, help="different ones, by which recall is known")
    options.add_argument("--documents", type=int, default=100_000, help="texts, or 0 for none")
    options.add_argument("--only", help=f"engines: {','.join([*child.VECTORS, 'tantivy'])}")
    options.add_argument("--kinds", help="indices, as the table names them, in place of all but IVF_HNSW_FLAT")
    options.add_argument("--seconds", type=float, default=4.0, help="of queries by many clients")
    options.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} rows: shows that all works, not how fast")
    options.add_argument("--root", type=pathlib.Path, default=MEMORY if MEMORY.is_dir() else None, help="where data is for a while")
    options.add_argument("--history", type=pathlib.Path, help="the file of earlier figures, which gets those of this run")
    options.add_argument("--picture", type=pathlib.Path, help="the file for the curves")
    options.add_argument("--child", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.quick:
        given.rows, given.documents = QUICK_ROWS, min(given.documents, QUICK_ROWS)
        given.queries, given.seconds = QUICK_QUERIES, QUICK_SECONDS
    given.sizes = given.sizes.split(",") if given.sizes else [f"{given.rows}x{given.dim}"]
    given.only = given.only.split(",") if given.only else []
    given.kinds = given.kinds.split(",") if given.kinds else []
    # Only whole runs are kept, unless a file is named.
    if not (given.quick or given.only or given.kinds):
        given.history = given.history or REPOSITORY / "docs" / "speed-history.jsonl"
        given.picture = given.picture or REPOSITORY / "docs" / "speed.png"
    return given


class Run:
    """The results of a run, and what was left out of it."""

    def __init__(self, given: argparse.Namespace, place: pathlib.Path):
        self.given, self.place = given, place
        self.curves: dict[str, list[dict]] = {}
        self.figures: dict[str, dict[str, float]] = {}
        self.left_out: list[str] = []
        self.versions: dict[str, str] = {}

    def chosen(self, engines: dict) -> list[str]:
        return [name for name in engines if not self.given.only or name in self.given.only]

    def child(self, size: str, engine: str, what: str, **task) -> list[dict]:
        """Runs one engine in a process and returns its good results. Keeps its figures, and its failures in left_out."""
        done, good = child.spawn(self.place, {"engine": engine, "what": what, "seconds": self.given.seconds, **task}), []
        for result in done:
            if "failed" in result:
                name = f"{engine}, {result.get('kind') or what} of {size}"
                self.left_out.append(f"{name}: {result['failed']}")
                print(f"\n*** LEFT OUT: {self.left_out[-1]}\n", file=sys.stderr, flush=True)
                continue
            prefix = "/".join(filter(None, (engine, result["kind"])))
            self.figures.setdefault(size, {}).update({f"{prefix}/{name}": value for name, value in result["figures"].items()})
            self.versions |= {engine: result["version"]} if result.get("version") else {}
            good.append(result)
        return good

    def vectors(self, size: str) -> None:
        from peers import data

        folder = self.place / size
        folder.mkdir()
        os.chmod(folder, 0o755)
        data.write(folder, *map(int, size.split("x")), self.given.queries)
        self.curves[size] = []
        for engine in self.chosen(child.VECTORS):
            self.curves[size] += self.child(size, engine, "vectors", data=str(folder), kinds=self.given.kinds)
        shutil.rmtree(folder)

    def texts(self, size: str) -> None:
        if not self.given.only or "ours" in self.given.only:
            self.child(size, "ours", "fixed", rows=self.given.rows, documents=self.given.documents)
        for engine in self.chosen(child.TEXTS):
            self.child(size, engine, "texts", documents=self.given.documents)

    def report(self, documents: str) -> str:
        from peers import cpu, goals, history, table

        parts = [f"{cpu.machine()}; commit {history.commit()}"]
        if self.versions:
            parts[0] += "; " + "; ".join(f"{engine}: {version}" for engine, version in self.versions.items())
        for size, results in self.curves.items():
            parts += [f"## {size.replace('x', ' × ')}", table.vectors(size, results, self.figures.get(size, {}))]
            others = [value for name, value in self.figures.get(size, {}).items() if "/others" in name] or [0]
            parts.append(f"While many clients searched, other programs used {statistics.median(others):.0%} of the processors, at most {max(others):.0%}.")
        if documents in self.figures:
            parts += [f"## {documents}", *table.texts(documents, self.figures[documents])]
        if self.left_out:
            parts += ["## LEFT OUT", "\n".join(f"- **{line}**" for line in self.left_out)]
        missed = [line for size, figures in self.figures.items() for line in goals.missed(size, figures)]
        parts += ["## Goals that were missed", "\n".join(f"- {line}" for line in missed) or "None."]
        entries = [history.entry(size, figures) for size, figures in self.figures.items()]
        file = self.given.history
        if file:
            parts += ["## Worse by more than a tenth", "\n".join(f"- {l}" for l in history.worse(history.read(file), entries)) or "Nothing."]
            history.append(file, entries)
        return "\n\n".join(parts)


def main() -> None:
    given = arguments()
    if given.child:
        child.run(json.loads(given.child))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by a signal"))  # the exit also ends the engines
    with tempfile.TemporaryDirectory(prefix="tiltyard-peers-", dir=given.root) as place:
        os.chmod(place, 0o755)
        run, documents = Run(given, pathlib.Path(place)), f"{given.documents} documents"
        try:
            for size in given.sizes:
                run.vectors(size)
            if given.documents and not given.kinds:
                run.texts(documents)
        except (KeyboardInterrupt, SystemExit):  # what was measured is printed, but not kept as a whole run
            run.left_out.append("all that comes after: the run was interrupted")
            given.history = given.picture = None
        print(run.report(documents))
        if given.picture:
            from peers import picture

            picture.draw(given.picture, run.curves)


if __name__ == "__main__":
    main()
