"""One table twice, on our server and at the peer, so that both can run the same operations."""

from __future__ import annotations

import pyarrow as pa

from rows import assert_same, by


class Pair:
    """One table twice: at ours and at the peer's."""

    def __init__(self, remote, local):
        self.remote, self.local = remote, local

    def same(self, ask, *, sort: tuple = ()) -> pa.Table:
        """Asks both and returns the answer of ours, which is the peer's."""
        got, want = ask(self.remote), ask(self.local)
        assert_same(by(got, *sort) if sort else got, by(want, *sort) if sort else want)
        return got

    def both(self, do) -> list:
        """Changes both alike."""
        return [do(self.remote), do(self.local)]


def everything(table) -> pa.Table:
    """All rows of a table, in its order."""
    return table.search().to_arrow()
