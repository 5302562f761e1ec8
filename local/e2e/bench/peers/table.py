"""The figures as tables of Markdown, with goals beside them; a missed goal is bold."""

from __future__ import annotations

from peers.child import TEXTS
from peers.goals import goals
from peers.measure import CLIENTS

COLUMNS = ["ms", "q/s", "cpu ms", "machine ms"]
HEAD = ["engine, index", "build s", "build cpu s", "recall", "reached", "effort", "ms", f"q/s by {CLIENTS}", "cpu ms a query", "machine ms a query"]


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def cell(size: str, figures: dict[str, float], name: str) -> str:
    """A figure with its goals."""
    if name not in figures:
        return ""
    text, missed = number(figures[name]), False
    aims = goals(size, name)
    for goal in aims:
        bound = goal.bound(figures, name)
        if bound is None:
            text += f" ({goal.text()}: not measured)"
            continue
        less = f", less {number(figures[goal.less])}" if goal.less in figures else ""
        text += f" ({goal.text()}{f' = {number(bound)}' if goal.of else ''}{less})"
        missed |= not goal.met(figures, name)
    return f"**{text}**" if missed else text


def markdown(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return "\n".join([line(head), "|" + "".join("---|" if i < left else "--:|" for i in range(len(head)))] + [line(row) for row in rows])


def vectors(size: str, results: list[dict], figures: dict[str, float]) -> str:
    """A row for each effort that was chosen for a recall. The first row of an index also has the cost of its build."""
    rows = []
    for result in results:
        if not result.get("kind"):
            continue
        name = f"{result['engine']}/{result['kind']}"
        built = [cell(size, figures, f"{name}/build s"), cell(size, figures, f"{name}/build cpu s")]
        first = [f"{result['engine']}, {result['kind']}", *built]
        efforts = groups(result["efforts"])
        if not efforts:
            best = max(step["recall"] for step in result["curve"])
            rows.append([*first, f"at most {best:.3f}", *[""] * (len(HEAD) - 4)])
        for effort, whys in efforts.items():
            # Each goal is for one recall, so the row of an effort with two recalls has the goals of both.
            cells = [merged([cell(size, figures, f"{name}/{column} at {why}") for why in whys]) for column in COLUMNS]
            reached = f"{figures[f'{name}/recall at {whys[0]}']:.3f}"
            levels = [why.removeprefix("≥ ") for why in whys if why.startswith("≥")]
            rows.append([*first, "≥ " + ", ".join(levels) if levels else "", reached, effort, *cells])
            first = ["", "", ""]
    return markdown(HEAD, rows)


def groups(efforts: dict[str, str]) -> dict[str, list[str]]:
    """The recalls for which each effort was chosen."""
    found: dict[str, list[str]] = {}
    for why, effort in efforts.items():
        found.setdefault(effort, []).append(why)
    return found


def merged(cells: list[str]) -> str:
    """The cell with the most goals: all have the same figure."""
    bold = [one for one in cells if one.startswith("**")]
    return max(bold or cells, key=len)


def texts(size: str, figures: dict[str, float]) -> list[str]:
    """The cost of requests to our server, and the same searches for words by all engines."""
    parts = []
    if asked := names(figures, "requests"):
        rows = [[name.removesuffix(": cpu ms"), cell(size, figures, f"ours/requests/{name}")] for name in asked if name.endswith("cpu ms")]
        for row in rows:
            row.append(number(figures[f"ours/requests/{row[0]}: q/s"]))
        parts.append(markdown(["a warm request to ours, four clients", "server cpu ms", "q/s"], rows))
    if known := names(figures, "texts"):
        engines = [engine for engine in TEXTS if f"{engine}/texts/build s" in figures]
        rows = [[name, *(cell(size, figures, f"{engine}/texts/{name}") for engine in engines)] for name in known if not name.endswith("found")]
        parts.append(markdown(["top 10, one client", *engines], rows))
    return parts


def names(figures: dict[str, float], kind: str) -> list[str]:
    """The figures of a kind, in the order in which they were measured."""
    return list(dict.fromkeys(name.split("/", 2)[2] for name in figures if name.split("/")[1] == kind))
