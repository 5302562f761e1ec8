"""Randomly invalid requests: the response to each is an error that a client can parse, and
never a fault of the server.

E2E_MUTANTS is the number of requests, and --seed the first seed:

    E2E_MUTANTS=20000 make test-e2e ARGS='-k mutants --seed 7'
"""

from __future__ import annotations

import json
import os
import random

import pytest

import sample
from mutants import OF_TABLES, OTHERS, mutant

MUTANTS = int(os.environ.get("E2E_MUTANTS", 1500))
OF_ONE_TABLE = 150  # requests, as some take from it what others are about


@pytest.mark.embedded("very many cases of the engine, which is the same behind a gateway")
def test_mutants_are_no_faults(wire, space, request):
    r = random.Random(request.config.getoption("--seed"))
    refused = 0
    for i in range(MUTANTS):
        table = f"{space}$t{i // OF_ONE_TABLE}"
        if i % OF_ONE_TABLE == 0:
            made = [
                wire.upload(f"/v1/table/{table}/create", sample.people(60)),
                wire.upload(f"/v1/table/{table}/insert", sample.people(10, start=100)),
                wire.post(f"/v1/table/{table}/tags/create", {"tag": "t1", "version": 1}),
                wire.post(f"/v1/table/{table}/branches/create", {"name": "b1"}),
            ]
            assert [answer.status for answer in made] == [200] * 4
        if r.random() < 0.8:
            operation, body = r.choice(OF_TABLES)
            path = f"/v1/table/{table}/{operation}"
        else:
            path, body = r.choice(OTHERS)
            path = path.replace("{s}", space)
        sent = json.dumps(mutant(r, body)).encode()
        answer = wire.call("POST", path, sent, {"Content-Type": "application/json"})
        told = f"request {i} of seed {request.config.getoption('--seed')}, {path}: {sent[:500]}: {answer.status}"
        assert answer.status < 500 or answer.status == 501, told
        if answer.status >= 400:
            refused += 1
            error = answer.json
            assert error["status"] == answer.status and error["error"], told
    assert refused > MUTANTS // 4
