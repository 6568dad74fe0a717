"""Threads that need the API's description first: python -m tests.with_django tests.developer_site.openapi.parallel_documents"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from developer_site.openapi.document import document

THREADS = 8
_line = Barrier(THREADS)


def _paths(_thread: int) -> int:
    _line.wait()
    return len(document()["paths"])


if __name__ == "__main__":
    with ThreadPoolExecutor(THREADS) as pool:
        numbers = set(pool.map(_paths, range(THREADS)))
    assert len(numbers) == 1, numbers
