"""The sandbox's folder with its database, generated keys and credentials, readable only by the owner.

The folder and its keys are created at first use, so that `git clone && make run` needs no configuration.
"""

import fcntl
import json
import os
import secrets
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

OWNER_ONLY = 0o600
PROJECT = Path(__file__).resolve().parents[2]
DEFAULT = PROJECT / "var" / "sandbox"
# Default of SANDBOX_CURRENT: holds folder and address of the sandbox that was started last.
CURRENT = PROJECT / "var" / "sandbox.current"


def started_last(current: Path) -> Path | None:
    """Return the folder of the sandbox that was started last, if it still has credentials."""
    try:
        folder = Path(json.loads(current.read_text())["folder"])  # noqa: TID251  (our file)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return folder if (folder / "credentials.json").is_file() else None


class AlreadyRunning(Exception):
    """Another process serves the sandbox of this folder."""


class SandboxFolder:
    """Files of a sandbox. Two sandboxes never share a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "db.sqlite3"
        self.credentials = path / "credentials.json"
        self._keys = path / "keys.json"
        self._lock: int | None = None

    def keys(self) -> dict[str, str]:
        """Return the secrets, which are generated at the first call."""
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

    def lock(self) -> None:
        """Keep other sandboxes out of this folder until this process and its children end.

        :raises AlreadyRunning: another process has the lock
        """
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise AlreadyRunning from None
        self._lock = descriptor  # the system releases it when the last process that has it open ends

    def protect_database(self) -> None:
        """Create the database file if it doesn't exist, readable only by the owner."""
        self.path.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.database, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
        self.database.chmod(OWNER_ONLY)

    def read_credentials(self) -> dict[str, Any] | None:
        if not self.credentials.exists():
            return None
        document: dict[str, Any] = json.loads(self.credentials.read_text())  # noqa: TID251  (our file)
        return document

    def address(self) -> str:
        """Return the URL at which this sandbox was last served, or "" if it never was."""
        return str((self.read_credentials() or {}).get("base_url", ""))

    def write_credentials(self, document: dict[str, Any]) -> None:
        self.credentials.unlink(missing_ok=True)
        self._create(self.credentials, document)

    def become_current(self, current: Path) -> None:
        """Note that this is the sandbox that was started last, for commands in another terminal."""
        current.parent.mkdir(parents=True, exist_ok=True)
        current.unlink(missing_ok=True)
        self._create(current, {"folder": str(self.path), "base_url": self.address()})

    def _create(self, path: Path, document: dict[str, Any]) -> None:
        """Create a file atomically. If it exists already, it is left unchanged."""
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
