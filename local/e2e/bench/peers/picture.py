"""Recall over milliseconds, one curve for each index and one colour for each engine, as a picture."""

from __future__ import annotations

import pathlib

COLORS = {
    "ours": "#d62728",
    "lancedb": "#ff7f0e",
    "pgvector": "#1f77b4",
    "faiss": "#2ca02c",
    "hnswlib": "#9467bd",
    "chroma": "#8c564b",
    "milvus-lite": "#17becf",
}
MARKS = "osD^vPX*"
LEAST, MOST = 0.7, 1.003  # of recall


def draw(file: pathlib.Path, sizes: dict[str, list[dict]]) -> None:
    """A picture with a frame for each size. A kind has the same mark wherever it has the same name."""
    import matplotlib

    matplotlib.use("Agg")  # no window
    from matplotlib import pyplot

    figure, frames = pyplot.subplots(1, len(sizes), figsize=(12 * len(sizes), 7), squeeze=False, layout="constrained")
    for frame, (size, results) in zip(frames[0], sizes.items()):
        marks: dict[str, str] = {}
        for result in results:
            curve = front(result.get("curve", []))
            if not curve:
                continue
            mark = marks.setdefault(result["kind"], MARKS[len(marks) % len(MARKS)])
            name = f"{result['engine']}, {result['kind']}"
            color, width = COLORS.get(result["engine"], "black"), 2.4 if result["engine"] == "ours" else 1.3
            frame.plot([ms for ms, _ in curve], [recall for _, recall in curve], mark + "-", color=color, linewidth=width, markersize=5, label=name)
        rows, dimensions = size.split("x")
        frame.set_title(f"{int(rows):,} vectors of {dimensions} dimensions, ten nearest, one client")
        frame.set_xscale("log")
        frame.xaxis.set_major_formatter("{x:g}")
        frame.set_xlabel("milliseconds, median")
        frame.set_ylabel("recall")
        frame.set_ylim(LEAST, MOST)
        frame.grid(True, which="both", alpha=0.25)
        frame.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def front(curve: list[dict]) -> list[tuple[float, float]]:
    """The efforts that have more recall than every faster one."""
    best, kept = 0.0, []
    for step in sorted(curve, key=lambda step: step["ms"]):
        if step["recall"] > best:
            best = step["recall"]
            kept.append((step["ms"], best))
    return kept
