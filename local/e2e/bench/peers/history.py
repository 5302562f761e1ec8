"""The figures of each run in a file, a line of JSON for each size, and what has become worse since the run before."""

from __future__ import annotations

import datetime
import json
import pathlib
import re
import subprocess

from peers import cpu

WORSE = 1.1  # times what it was
NEUTRAL = re.compile(r"/recall|/others|: found$")  # figures that do not measure speed


def commit() -> str:
    """The commit that is measured, with a plus if the tree differs from it."""
    git = lambda *words: subprocess.run(["git", *words], capture_output=True, text=True, cwd=pathlib.Path(__file__).parent).stdout.strip()
    return git("rev-parse", "--short=8", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def entry(size: str, figures: dict[str, float]) -> dict:
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="minutes")
    return {"date": date, "commit": commit(), "machine": cpu.machine(), "size": size, "figures": {n: float(f"{v:.4g}") for n, v in figures.items()}}


def read(file: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append(file: pathlib.Path, entries: list[dict]) -> None:
    with open(file, "a") as history:
        history.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in entries)


def worse(before: list[dict], now: list[dict]) -> list[str]:
    """A line for each figure that is worse by more than a tenth than in the last run with the same machine and size."""
    lines = []
    for one in now:
        alike = [old for old in before if (old["machine"], old["size"]) == (one["machine"], one["size"])]
        if not alike:
            lines.append(f"{one['size']}: no earlier run on this machine")
            continue
        old, same = alike[-1], {}
        for name, value in one["figures"].items():
            was = old["figures"].get(name)
            if was and not NEUTRAL.search(name) and (was / max(value, 1e-9) if "q/s" in name else value / was) > WORSE:
                # Several recalls may have the same effort, and then the same figures: they share a line.
                figure, _, recall = name.partition(" at ")
                same.setdefault((figure, was, value), []).append(recall)
        since = f"since {old['commit']}, {old['date'][:10]}"
        for (figure, was, value), recalls in same.items():
            at = f" at {', '.join(recalls)}" if recalls[0] else ""
            lines.append(f"{one['size']}: {figure}{at}: {was:g} → {value:g} ({since})")
    return lines
