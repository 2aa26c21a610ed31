"""Performs locks of kazoo for the benchmarks: see rival_test.go.

Arguments: address, path of the lock, number of contenders.
"""

import itertools
import sys
import threading
import time

from kazoo.client import KazooClient


def connect(address, path):
    client = KazooClient(hosts=address, timeout=30)
    client.start(timeout=30)
    return client.Lock(path)


def start(locks, times, most):
    """Starts contenders. Each takes the lock until none is left to take, at most so many times."""
    left = iter(range(times))  # next() is atomic.

    def contend(lock):
        for _ in itertools.islice(left, most):
            lock.acquire()
            lock.release()

    threads = [threading.Thread(target=contend, args=(lock,), daemon=True) for lock in locks]
    for thread in threads:
        thread.start()
    return threads


def main():
    address, path, contenders = sys.argv[1], sys.argv[2], int(sys.argv[3])
    locks = [connect(address, path) for _ in range(contenders)]
    print("ready", flush=True)
    waiters = []
    for line in sys.stdin:
        began = time.monotonic_ns()
        if line == "queue\n":
            locks[0].acquire()
            waiters = start(locks[1:], contenders - 1, 1)
        elif line == "drain\n":
            locks[0].release()
            for thread in waiters:
                thread.join()
        else:
            for thread in start(locks, int(line), None):
                thread.join()
        print(time.monotonic_ns() - began, flush=True)


main()
