"""Calls of native Lance, which may refuse an operation or crash."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Refused(Exception):
    """Native Lance refused or failed an operation."""


@contextlib.contextmanager
def native_calls() -> Iterator[None]:
    """Turns errors of native Lance into Refused. Its panics are not subclasses of Exception."""
    try:
        yield
    except (TimeoutError, KeyboardInterrupt, AssertionError):
        raise
    except BaseException as fault:
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
            raise
        raise Refused(f"{type(fault).__name__}: {str(fault)[:300]}") from fault
