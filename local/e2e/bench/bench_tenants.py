"""What a tenant that sends ten times its quota costs another one.

A server limits each tenant to some requests a second. The calm tenant searches at nine tenths of that. By turns it is
alone, or beside a tenant that sends ten times its quota. The rounds
alternate, so that both see the same machine, and the last line compares the 95th percentiles.

    python bench_tenants.py [--quota N] [--seconds N] [--rounds N] [--rows N]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pathlib
import statistics
import sys
import tempfile
import threading
import time

import numpy as np
import pyarrow as pa

from process import Server
from wire import Wire

DIMENSION = 32
NOISE = 10  # times its quota
CONNECTIONS = 4  # of the noisy tenant
MOST = 1.2  # how much higher the 95th percentile beside the noisy tenant may be
QUERY = {"vector": {"single_vector": [0.5] * DIMENSION}, "k": 10, "columns": ["id"]}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quota", type=int, default=20, help="requests a second of a tenant")
    parser.add_argument("--seconds", type=float, default=5, help="of a round")
    parser.add_argument("--rounds", type=int, default=6, help="of each kind")
    parser.add_argument("--rows", type=int, default=2_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "quotas.json").write_text(
            json.dumps({"quotas": [{"name": "rate", "tenant": "*", "requests": args.quota, "per": "1s"}]})
        )
        keys = [f"{name} {hashlib.sha256(f'{name}-key'.encode()).hexdigest()}\n" for name in ("calm", "noisy")]
        (place / "keys.txt").write_text("".join(keys))
        settings = {
            "TILTYARD_QUOTAS": str(place / "quotas.json"),
            "TILTYARD_API_KEYS": str(place / "keys.txt"),
            "TILTYARD_LOG_LEVEL": "error",
        }
        with Server(place / "root", settings=settings) as server:
            return compare(server, args)


def compare(server: Server, args) -> int:
    owner = Wire(server.url, server.token)
    for name in ("calm", "noisy"):
        vectors = np.random.default_rng(1).random((args.rows, DIMENSION), dtype=np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSION)
        rows = pa.table({"id": pa.array(range(args.rows)), "vector": column})
        assert owner.upload(f"/v1/table/{name}/create", rows).status == 200
        time.sleep(1)  # the owner has a quota, too
    times: dict[bool, list[float]] = {False: [], True: []}
    statuses = {"calm": [], "noisy": []}
    spent(server.url, "calm", args.quota * 0.9, 2, [])  # the tables are in the cache then
    for _ in range(args.rounds):
        for beside in (False, True):
            noise = []
            if beside:
                each = args.quota * NOISE / CONNECTIONS
                for _ in range(CONNECTIONS):
                    noise.append(threading.Thread(target=spent, args=(server.url, "noisy", each, args.seconds, statuses["noisy"])))
            for thread in noise:
                thread.start()
            times[beside] += spent(server.url, "calm", args.quota * 0.9, args.seconds, statuses["calm"])
            for thread in noise:
                thread.join()
    refused = {name: sum(status == 429 for status in of) for name, of in statuses.items()}
    for beside, label in ((False, "alone"), (True, f"beside {NOISE} x the quota")):
        print(f"calm, {label:24} n {len(times[beside]):4}  p50 {1000 * quantile(times[beside], 50):6.2f} ms  p95 {1000 * quantile(times[beside], 95):6.2f} ms")
    print(f"refused: {refused['calm']} of {len(statuses['calm'])} calm, {refused['noisy']} of {len(statuses['noisy'])} noisy")
    ratio = quantile(times[True], 95) / quantile(times[False], 95)
    print(f"p95 beside / alone: {ratio:.2f}, at most {MOST}")
    return int(ratio > MOST or refused["calm"] > 0)


def spent(url: str, tenant: str, rate: float, seconds: float, statuses: list[int]) -> list[float]:
    """Sends queries at a rate, and returns how long each took."""
    line = Wire(url, f"{tenant}-key")
    body = json.dumps(QUERY).encode()
    times = []
    began = time.perf_counter()
    for number in range(int(rate * seconds)):
        turn = began + number / rate
        time.sleep(max(0, turn - time.perf_counter()))
        sent = time.perf_counter()
        if sent > began + seconds:
            break  # the machine is too slow for the rate
        statuses.append(line.call("POST", f"/v1/table/{tenant}/query", body, {"Content-Type": "application/json"}).status)
        times.append(time.perf_counter() - sent)
    line.close()
    return times


def quantile(times: list[float], percent: int) -> float:
    return statistics.quantiles(times, n=100)[percent - 1]


if __name__ == "__main__":
    sys.exit(main())
