"""Liveness with the version, and readiness, which is public and so runs at most one check per second."""

import threading

import pytest
from django.db import OperationalError
from django.test import Client

from config.version import VERSION
from operations import health
from operations.health import Readiness

pytestmark = pytest.mark.django_db


def test_livez_says_the_version():
    assert Client().get("/livez").json() == {"status": "ok", "version": VERSION}


class TestReadiness:
    def test_queries_the_database_once_a_second(self, django_assert_num_queries, monkeypatch):
        client = Client()
        client.get("/readyz")

        with django_assert_num_queries(0):
            answers = {client.get("/readyz").status_code for _ in range(20)}
        assert answers == {200}

        monkeypatch.setattr(Readiness, "LIFETIME", 0)
        monkeypatch.setattr(health, "worker_state", fail)
        assert client.get("/readyz").status_code == 503

    def test_returns_the_last_check_while_another_runs(self, monkeypatch):
        readiness, started, go_on = Readiness(), threading.Event(), threading.Event()
        monkeypatch.setattr(health, "_states", lambda: {"migrations": "ok"})
        readiness.states()
        monkeypatch.setattr(Readiness, "LIFETIME", 0)

        def hang():
            started.set()
            go_on.wait(10)
            return {"migrations": "ok", "broker": "away"}

        monkeypatch.setattr(health, "_states", hang)
        checker = threading.Thread(target=readiness.states)
        checker.start()
        assert started.wait(10)
        try:
            assert readiness.states() == {"migrations": "ok"}
            monkeypatch.setattr(Readiness, "CHECK_TIMEOUT", 0)
            assert readiness.states() == {"database": "away"}
        finally:
            go_on.set()
            checker.join()


def fail():
    raise OperationalError
