import json
import os
import subprocess

import pytest
from django.core.management import CommandError, call_command

import manage
from config.environment.env import PROJECT
from config.environment.sandbox_folder import SandboxFolder, started_last
from config.management.commands.sandbox import Command, _lock_folder
from merchants.models import ApiKey, User


class TestSecondTerminal:
    """Runs real commands, which find the sandbox that another terminal started last."""

    @pytest.fixture
    def current(self, tmp_path):
        folder = SandboxFolder(tmp_path / "shop")
        folder.keys()
        folder.write_credentials(
            {"base_url": "http://127.0.0.1:8100", "api_key": "pk_1", "secret_key": "sk_1"}
        )
        folder.become_current(tmp_path / "sandbox.current")
        return tmp_path / "sandbox.current"

    def test_notes_folder_and_address_for_its_owner_only(self, current, tmp_path):
        assert json.loads(current.read_text()) == {
            "folder": str(tmp_path / "shop"),
            "base_url": "http://127.0.0.1:8100",
        }
        assert current.stat().st_mode & 0o077 == 0

    def test_finds_the_one_that_was_started_last_while_it_has_credentials(self, current, tmp_path):
        assert started_last(current) == tmp_path / "shop"

        (tmp_path / "shop" / "credentials.json").unlink()
        assert started_last(current) is None

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"folder": 1}', "nonsense"])
    def test_ignores_a_file_that_is_none(self, current, content):
        current.write_text(content)

        assert started_last(current) is None

    def test_takes_the_place_of_an_earlier_one(self, current, tmp_path):
        other = SandboxFolder(tmp_path / "other")
        other.keys()
        other.write_credentials({"base_url": "http://127.0.0.1:8200"})
        other.become_current(current)

        assert started_last(current) == tmp_path / "other"

    def test_is_used_by_a_command_unless_a_variable_names_another(self, monkeypatch, capsys, tmp_path):
        monkeypatch.delenv("SANDBOX_DATA", raising=False)
        monkeypatch.setattr(manage, "started_last", lambda _: tmp_path)

        manage.use_the_sandbox_that_was_started_last()
        manage.use_the_sandbox_that_was_started_last()

        assert os.environ["SANDBOX_DATA"] == str(tmp_path)
        assert capsys.readouterr().err.splitlines() == [
            f"Using the sandbox in {tmp_path}, which was started last."
        ]

    @pytest.mark.parametrize("environment", [{"ENVIRONMENT": "production"}, {"SANDBOX_DATA": "elsewhere"}])
    def test_is_not_used_in_production_or_if_another_is_named(self, monkeypatch, tmp_path, environment):
        monkeypatch.delenv("SANDBOX_DATA", raising=False)
        monkeypatch.setattr(manage, "started_last", lambda _: tmp_path)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

        manage.use_the_sandbox_that_was_started_last()

        assert os.environ.get("SANDBOX_DATA") == environment.get("SANDBOX_DATA")


class TestMake:
    def test_refuses_a_misspelt_variable_and_names_the_known_ones(self):
        refused = subprocess.run(
            ["make", "-n", "run", "PROT=8100"], cwd=PROJECT, capture_output=True, check=False
        )

        assert refused.returncode == 2
        assert b"PROT? Known: ARGS BASE DATA IMAGE_CACHE ONLY PORT PYTHON" in refused.stderr

    def test_accepts_values_with_blanks_and_equals_signs(self):
        given = ["ARGS=tests/a  tests/b -m 'not e2e' --x=y", "PORT=8100", "DATA=/tmp/a b"]

        listed = subprocess.run(["make", "-n", "test", *given], cwd=PROJECT, capture_output=True, check=False)

        assert listed.returncode == 0, listed.stderr
        assert b"tests/b" in listed.stdout


class TestPort:
    @pytest.mark.parametrize("port", [0, -1, 65536])
    def test_must_be_a_valid_tcp_port(self, port):
        with pytest.raises(CommandError) as refused:
            call_command("sandbox", port=port)
        assert refused.value.returncode == 2


class TestFolderInUse:
    @pytest.fixture
    def folder(self, settings, tmp_path):
        settings.SANDBOX_FOLDER = SandboxFolder(tmp_path)
        SandboxFolder(tmp_path).write_credentials({"base_url": "http://127.0.0.1:8100"})
        return tmp_path

    def test_is_refused_with_its_address_and_a_way_out(self, folder):
        running = SandboxFolder(folder)
        running.lock()

        with pytest.raises(CommandError) as refused:
            _lock_folder()

        assert f"already running in {folder} at http://127.0.0.1:8100." in str(refused.value)
        assert "--data DIR" in str(refused.value)

    def test_is_free_again_after_the_process_has_ended(self, folder):
        running = SandboxFolder(folder)
        running.lock()
        os.close(running._lock)  # as when a process ends

        _lock_folder()

        assert (folder / "lock").stat().st_mode & 0o077 == 0


@pytest.mark.django_db
class TestCredentials:
    @pytest.fixture(autouse=True)
    def folder(self, settings, tmp_path):
        settings.SANDBOX_FOLDER = SandboxFolder(tmp_path)
        return settings.SANDBOX_FOLDER

    def test_are_kept_while_their_key_exists(self):
        first = Command()._credentials()
        assert Command()._credentials() == first

    def test_are_recreated_if_their_key_does_not_exist(self, folder):
        lost = Command()._credentials()
        folder.write_credentials(lost | {"api_key": "pk_sandbox_of_a_killed_start"})
        User.objects.all().delete()
        made = Command()._credentials()
        assert ApiKey.objects.filter(public_id=made["api_key"]).exists()
        assert made["password"]
        assert json.loads(folder.credentials.read_text()) == made
