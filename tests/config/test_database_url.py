import pytest

from config.environment import database_url
from config.environment.env import InvalidPart


class TestPostgreSQL:
    def test_keeps_each_host_with_its_port(self, subtests):
        for url, host, port in [
            ("postgres://ada@db/sluice", "db", ""),
            ("postgres://ada@db:5433/sluice", "db", "5433"),
            ("postgresql://ada@db:5433/sluice", "db", "5433"),
            ("postgres://ada@a:5432,b:5433/sluice", "a,b", "5432,5433"),
            ("postgres://ada@a,b:5433/sluice", "a,b", ",5433"),
            ("postgres://ada@a:5433,b/sluice", "a,b", "5433,"),
            ("postgres://ada@[::1]:5433,[fd00::2]/sluice", "::1,fd00::2", "5433,"),
            ("postgres://ada@a,b/sluice", "a,b", ","),
            ("postgres://%2Frun%2Fpostgresql/sluice", "/run/postgresql", ""),
            ("postgres:///sluice?host=/run/postgresql", "/run/postgresql", ""),
            ("postgres:///sluice?host=a,b&port=5433", "a,b", "5433"),
            ("postgres:///sluice", "", ""),
        ]:
            with subtests.test(url=url, host=host):
                read = database_url.read(url)

                assert (read["HOST"], read["PORT"], read["NAME"]) == (host, port, "sluice")
                assert read["ENGINE"] == "django.db.backends.postgresql"

    def test_decodes_user_and_password(self):
        read = database_url.read("postgres://ad%40a:p%40ss%2Fw+rd@a,b/sluice")

        assert (read["USER"], read["PASSWORD"]) == ("ad@a", "p@ss/w+rd")

    @pytest.mark.parametrize("url", ["postgres://ada@db/sluice", "postgres://ada@a,b/sluice"])
    def test_connects_to_a_primary_and_detects_dead_hosts(self, url):
        assert database_url.read(url)["OPTIONS"] == {
            "target_session_attrs": "read-write",
            "connect_timeout": 3,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        }

    def test_takes_parameters_of_the_url_before_the_defaults(self):
        options = database_url.read(
            "postgres://ada@a,b/sluice?target_session_attrs=primary&connect_timeout=9&sslmode=verify-full"
        )["OPTIONS"]

        assert options["target_session_attrs"] == "primary"
        assert options["connect_timeout"] == "9"
        assert options["sslmode"] == "verify-full"
        assert options["keepalives_idle"] == 5

    def test_names_the_wrong_part(self, subtests):
        for url, message in [
            ("postgres://ada:secret@a,,b/sluice", "one of its hosts is empty"),
            ("postgres://ada:secret@,/sluice", "one of its hosts is empty"),
            ("postgres://ada:secret@a:54x2,b:5432/sluice", "each port must be a number from 1 to 65535"),
            ("postgres://ada:secret@a:5432,b:70000/sluice", "each port must be a number from 1 to 65535"),
            ("postgres://ada:secret@a:0/sluice", "each port must be a number from 1 to 65535"),
            ("postgres:///sluice?host=a,b&port=1,2,3", "it must have one port, or one for each host"),
            ("postgres:///sluice?host=a,b,c&port=1,2", "it must have one port, or one for each host"),
            ("postgres://ada@a,b/sluice?target_session_attrs=any", "must be read-write or primary"),
            ("postgres://ada@a,b/sluice?target_session_attrs=standby", "must be read-write or primary"),
            ("postgres://ada@a/sluice?target_session_attrs=nonsense", "must be read-write or primary"),
            ("postgres://ada@a/sluice?connect_timeout=soon", "connect_timeout must be a whole number"),
            ("postgres://ada@a/sluice?tcp_user_timeout=-1", "tcp_user_timeout must be a whole number"),
        ]:
            with subtests.test(url=url, message=message):
                with pytest.raises(InvalidPart, match=message) as refused:
                    database_url.read(url)

                assert "secret" not in str(refused.value)

    @pytest.mark.parametrize(
        "url",
        [
            "postgres://ada@a,b",
            "postgres://ada@a,b/",
            "postgres:////run/postgresql/sluice",
            "postgres://ada@[::1/sluice",
            "postgres://ada@a,b/sluice?target=read-write",
            "postgres:sluice",
            "postgis://ada@db/sluice",
        ],
    )
    def test_rejects_other_urls(self, url):
        with pytest.raises(ValueError):
            database_url.read(url)


class TestSessionParameters:
    def test_are_added_to_those_of_the_url(self):
        options = database_url.read("postgres://ada@a/sluice?options=-c%20search_path%3Dpay")["OPTIONS"]

        added = database_url.with_session_parameters(options, lock_timeout=3000, statement_timeout=0)

        assert added["options"] == "-c search_path=pay -c lock_timeout=3000 -c statement_timeout=0"
        assert added["connect_timeout"] == 3

    def test_need_no_others(self):
        assert database_url.with_session_parameters({}, lock_timeout=1) == {"options": "-c lock_timeout=1"}
