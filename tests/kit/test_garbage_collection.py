import gc
import weakref

import pytest

from kit import garbage_collection


class Node:
    """An object that refers to itself."""

    def __init__(self):
        self.itself = self


@pytest.fixture(autouse=True)
def _same_garbage_collection():
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


def collections():
    return sum(generation["collections"] for generation in gc.get_stats())


def test_collects_less_often():
    garbage_collection.collect_less_often()
    before = collections()

    kept = [[] for _ in range(garbage_collection.YOUNG // 2)]

    assert len(kept) > 700
    assert collections() == before


def test_still_finds_cycles():
    garbage_collection.collect_less_often()
    found = weakref.ref(Node())

    kept = [[] for _ in range(garbage_collection.YOUNG + 1)]

    assert kept
    assert found() is None


def test_does_not_search_objects_that_exist_already():
    garbage_collection.collect_less_often()

    assert gc.get_freeze_count() > len(gc.get_objects())
