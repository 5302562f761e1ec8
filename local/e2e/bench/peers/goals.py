"""The goals. A limit is a number, or a multiple of another engine's figure. Most limits are upper ones."""

from __future__ import annotations

import dataclasses
import fnmatch

from peers.texts import KINDS


@dataclasses.dataclass(frozen=True)
class Goal:
    figure: str  # engine/kind/figure; * stands for any characters
    limit: float
    of: str = ""  # if set, the limit is multiplied by this figure, in which * stands for our kind
    least: bool = False  # the limit is a lower one
    size: str = "*"
    less: str = ""  # a figure that is subtracted before the comparison

    def applies(self, size: str, name: str) -> bool:
        return fnmatch.fnmatch(size, self.size) and fnmatch.fnmatch(name, self.figure)

    def value(self, figures: dict[str, float], name: str) -> float:
        return figures[name] - (figures.get(self.less, 0) if self.less else 0)

    def bound(self, figures: dict[str, float], name: str) -> float | None:
        """The limit as a number; None if the other engine was not measured."""
        if not self.of:
            return self.limit
        other = figures.get(self.of.replace("*", name.split("/")[1]))
        return None if other is None else self.limit * other

    def met(self, figures: dict[str, float], name: str) -> bool | None:
        bound = self.bound(figures, name)
        if bound is None:
            return None
        value = self.value(figures, name)
        return value >= bound if self.least else value <= bound

    def text(self) -> str:
        sign = "≥" if self.least else "≤"
        return f"{sign} {self.limit:g}" + (f" × {self.of.split('/')[0]}" if self.of else "")


GRAPHS = "ours/IVF_HNSW_*"
MILLION, NARROW, WIDE = "1000000x128", "*x128", "*x768"
PROBED = "ours/IVF_PQ 316 partitions/cpu ms at nprobes 20 refine 10"

GOALS = [
    Goal("ours/IVF_HNSW_SQ/ms at ≥ .98", 1.0, size=MILLION),
    Goal("ours/IVF_HNSW_SQ/q/s at ≥ .98", 1500, least=True, size=MILLION),
    Goal("ours/IVF_HNSW_SQ/build cpu s", 260, size=MILLION),
    Goal(f"{GRAPHS}/build cpu s", 0.5, of="lancedb/*/build cpu s"),
    Goal(f"{GRAPHS}/build cpu s", 0.5, of="pgvector/HNSW/build cpu s"),
    Goal(f"{GRAPHS}/ms at ≥ .99", 0.9, of="pgvector/HNSW/ms at ≥ .99"),
    Goal(f"{GRAPHS}/q/s at ≥ .99", 1.2, of="pgvector/HNSW/q/s at ≥ .99", least=True),
    Goal(f"{GRAPHS}/cpu ms at ≥ .99", 0.15),
    Goal(PROBED, 0.20, size=NARROW),
    Goal(PROBED, 0.5, size=WIDE),
    Goal("ours/IVF_RQ/cpu ms at ≥ .95", 0.2, size=NARROW),
    Goal("ours/requests/GET /healthz: cpu ms", 0.03),
    Goal("ours/requests/count_rows: cpu ms", 0.06),
    Goal("ours/requests/point lookup, BTREE: cpu ms", 0.10),
    Goal("ours/requests/100 rows by id, BTREE: cpu ms", 0.6),
    Goal("ours/requests/FTS, two words: cpu ms", 0.25),
] + [
    # The cost of a count is subtracted, because HTTP is not work on texts.
    Goal(f"ours/requests/FTS, {kind}: cpu ms", 2, of=f"tantivy/texts/{kind}: cpu ms", less="ours/requests/count_rows: cpu ms")
    for kind in KINDS
]


def goals(size: str, name: str) -> list[Goal]:
    return [goal for goal in GOALS if goal.applies(size, name)]


def missed(size: str, figures: dict[str, float]) -> list[str]:
    """A line for each goal that is not met, also because no effort reaches its recall."""
    lines = [f"{size}: {name}: no effort reaches this recall ({goal.text()})" for goal in GOALS for name in unreached(goal, size, figures)]
    for name in figures:
        for goal in goals(size, name):
            if goal.met(figures, name) is False:
                less = " less that of a count" if goal.less else ""
                lines.append(f"{size}: {name}{less}: {goal.value(figures, name):.3g} ({goal.text()}, which is {goal.bound(figures, name):.3g})")
    return lines


def unreached(goal: Goal, size: str, figures: dict[str, float]) -> list[str]:
    engine, kind, figure = goal.figure.split("/", 2)
    if " at " not in figure or not fnmatch.fnmatch(size, goal.size):
        return []
    built = [name for name in figures if fnmatch.fnmatch(name, f"{engine}/{kind}/build s")]
    return [name for name in (one.removesuffix("build s") + figure for one in built) if name not in figures]
