"""Calls of native Lance, which may refuse what it is told or die of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Refused(Exception):
    """Native Lance did not do what it was told."""


@contextlib.contextmanager
def native_calls() -> Iterator[None]:
    """Turns what native Lance raises into Refused. Its panics are no Exception."""
    try:
        yield
    except (TimeoutError, KeyboardInterrupt, AssertionError):
        raise
    except BaseException as fault:
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
            raise
        raise Refused(f"{type(fault).__name__}: {str(fault)[:300]}") from fault
