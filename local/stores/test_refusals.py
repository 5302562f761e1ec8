"""A store behind a proxy that drops the conditions of writes. The signatures of requests cover them, so
this needs a server that looks at no signatures: MiniStack."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import ENDPOINT, settings
from process import Server, binary
from proxy import Proxy

GUARANTEES = {
    "if-none-match": "a put if absent replaces nothing",
    "if-match": "a put if unchanged replaces no other object",
}


class Stripping(Proxy):
    """A proxy that drops headers, as some that stand before stores do."""

    def __init__(self, url: str, *dropped: str):
        super().__init__(url)
        self.dropped = dropped

    def send(self, seen, corked=False):
        seen.headers = {name: value for name, value in seen.headers.items() if name not in self.dropped}
        return super().send(seen, corked)


@pytest.mark.parametrize("dropped", GUARANTEES)
def test_a_store_that_ignores_conditions_is_refused(tmp_path, bucket, dropped):
    uri = f"s3://{bucket}/lake"
    guarantee = GUARANTEES[dropped]
    with Stripping(ENDPOINT, dropped) as proxy:
        with pytest.raises(RuntimeError, match=guarantee) as refusal:
            Server(tmp_path / "s", uri=uri, settings=settings(proxy.url)).start()
        assert f"the store of {uri}" in str(refusal.value)
        doctor = [str(binary()), "doctor", "--root", uri, "--store"]
        found = subprocess.run(doctor, env={**os.environ, **settings(proxy.url)}, capture_output=True, text=True)
        assert found.returncode == 9 and guarantee in found.stdout, found
        sound = subprocess.run(doctor, env={**os.environ, **settings()}, capture_output=True, text=True)
        assert sound.returncode == 0, sound
