import json

import pytest
from django.core.management import CommandError, call_command

from config.management.commands.sandbox import Command
from config.sandbox_folder import SandboxFolder
from merchants.models import ApiKey, User


class TestPort:
    @pytest.mark.parametrize("port", [0, -1, 65536])
    def test_must_be_a_valid_tcp_port(self, port):
        with pytest.raises(CommandError) as refused:
            call_command("sandbox", port=port)
        assert refused.value.returncode == 2


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
