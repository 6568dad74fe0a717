"""The sandbox's folder: database, generated keys and credentials, readable by their owner only.

A folder is made with its keys at first use, so that `git clone && make run` needs no configuration.
"""

import json
import os
import secrets
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

OWNER_ONLY = 0o600


class SandboxFolder:
    """Files of one sandbox. Two sandboxes never share a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "db.sqlite3"
        self.credentials = path / "credentials.json"
        self._keys = path / "keys.json"

    def keys(self) -> dict[str, str]:
        """Return the generated secrets, made at the first call and the same ever after."""
        if not self._keys.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            generated = {
                "SECRET_KEY": secrets.token_urlsafe(48),
                "FIELD_ENCRYPTION_KEYS": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
                "FINGERPRINT_KEY": secrets.token_urlsafe(32),
            }
            self._create(self._keys, generated)
        keys: dict[str, str] = json.loads(self._keys.read_text())  # noqa: TID251  (our file)
        return keys

    def protect_database(self) -> None:
        """Make the database file, if it is not there yet, readable by its owner only."""
        self.path.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.database, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
        self.database.chmod(OWNER_ONLY)

    def read_credentials(self) -> dict[str, Any] | None:
        if not self.credentials.exists():
            return None
        document: dict[str, Any] = json.loads(self.credentials.read_text())  # noqa: TID251  (our file)
        return document

    def address(self) -> str:
        """Return where this sandbox was last served, or nothing where it never was."""
        return str((self.read_credentials() or {}).get("base_url", ""))

    def write_credentials(self, document: dict[str, Any]) -> None:
        self.credentials.unlink(missing_ok=True)
        self._create(self.credentials, document)

    def _create(self, path: Path, document: dict[str, Any]) -> None:
        """Write a new file in one step; whoever comes second keeps what the first one wrote."""
        draft = path.with_suffix(f".{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY)
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file, indent=2)
            file.write("\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
