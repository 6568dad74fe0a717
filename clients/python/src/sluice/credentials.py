"""Who calls: the keys of a profile, of the environment, or of the sandbox of this folder."""

import json
import os
import secrets
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from sluice.errors import SluiceError

VARIABLES = ("SLUICE_BASE_URL", "SLUICE_API_KEY", "SLUICE_SECRET_KEY")
ALL_VARIABLES = f"{', '.join(VARIABLES[:-1])} and {VARIABLES[-1]}"
SANDBOX = Path("var", "sandbox")
CURRENT = Path("var", "sandbox.current")
DEFAULT_PROFILE = "default"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class NoCredentials(SluiceError):
    """No key was found, or what was found can't be used. The message says what to do."""

    exit_code = 2


@dataclass(frozen=True)
class Credentials:
    """An address and a key pair. Its text shows no secret. `notice` says where they come from if that may surprise."""

    base_url: str
    api_key: str
    secret_key: str = field(repr=False)
    source: str = ""
    notice: str = ""


def find(profile: str | None = None, base_url: str | None = None) -> Credentials:
    """Return the first that applies: the profile, the environment, the default profile, the sandbox of this folder.

    `base_url` replaces its address.

    :raises NoCredentials: none applies, or the one that does is incomplete
    """
    if profile:
        found = from_profile(profile)
    elif any(os.environ.get(name) for name in VARIABLES):
        found = from_environment(base_url)
    elif _has_default_profile():
        found = from_profile(DEFAULT_PROFILE)
    else:
        found = from_sandbox()
    return replace(found, base_url=base_url, source=f"{found.source} and --base-url") if base_url else found


def from_environment(base_url: str | None = None) -> Credentials:
    """Return the keys of SLUICE_BASE_URL, SLUICE_API_KEY and SLUICE_SECRET_KEY.

    :raises NoCredentials: a variable is missing
    """
    given = {name: os.environ.get(name) for name in VARIABLES}
    given[VARIABLES[0]] = base_url or given[VARIABLES[0]]
    missing = [name for name, value in given.items() if not value]
    if len(missing) == len(VARIABLES):
        raise NoCredentials(f"Set {ALL_VARIABLES}, or use Sluice.from_sandbox().")
    if missing:
        raise NoCredentials(f"Set {', '.join(missing)} as well.")
    return _checked([str(value) for value in given.values()], source="the environment")


def from_profile(name: str) -> Credentials:
    """Return the keys of a profile.

    :raises NoCredentials: there is no such profile, or others can read the file
    """
    found = profiles().get(name)
    if not isinstance(found, dict):
        raise NoCredentials(
            f"There is no profile {name} in {profiles_file()}. `sluice login --name {name}` stores it."
        )
    return _of_document(found, source=f"the profile {name}")


def from_sandbox(folder: Path | None = None) -> Credentials:
    """Return the keys of a sandbox's demo business, by default of the one that was last started from this folder.

    :raises NoCredentials: there is none, or its address is not on this machine
    """
    place = folder or _named_sandbox() or _current_sandbox()
    file = place / "credentials.json"
    if not file.is_file():
        raise NoCredentials(
            f"No keys: there is no sandbox in {place.absolute()}. If yours is elsewhere: "
            "`sluice login --sandbox DIR` or SANDBOX_DATA=DIR (make run prints it); in a program "
            f"Sluice.from_sandbox(DIR). Otherwise start one with `make run`, or set {ALL_VARIABLES}."
        )
    found = _of_document(_read(file), source=f"the sandbox in {place}")
    if not _is_loopback(found.base_url):
        raise NoCredentials(
            f"{file} names {found.base_url!r}, and a sandbox is on this machine. Set {ALL_VARIABLES} for another."
        )
    is_elsewhere = folder is None and not _named_sandbox() and place != SANDBOX
    return (
        replace(found, notice=f"Using the sandbox in {place}, which was started last.")
        if is_elsewhere
        else found
    )


def store(name: str, keys: Credentials) -> None:
    """Store a profile in a file that only its owner can read.

    :raises NoCredentials: the file can be read by others, or is not ours
    """
    document = {"base_url": keys.base_url, "api_key": keys.api_key, "secret_key": keys.secret_key}
    _write(profiles() | {name: document})


def forget(name: str) -> bool:
    """Remove a profile, and return whether there was one."""
    left = profiles()
    is_known = left.pop(name, None) is not None
    if is_known:
        _write(left)
    return is_known


def profiles_file() -> Path:
    """Return the file of profiles.

    :raises NoCredentials: there is no home directory
    """
    try:
        config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    except RuntimeError:
        raise NoCredentials("There is no home directory for profiles: set HOME or XDG_CONFIG_HOME.") from None
    return Path(config, "sluice", "profiles.json")


def _has_default_profile() -> bool:
    try:
        profiles_file()
    except NoCredentials:
        return False
    return DEFAULT_PROFILE in profiles()


def _current_sandbox() -> Path:
    """Return the folder of the sandbox that was started last, or the default one."""
    try:
        folder = Path(str(_read(CURRENT)["folder"]))
    except (NoCredentials, KeyError):
        return SANDBOX
    is_there = (folder / "credentials.json").is_file() and folder.resolve() != SANDBOX.resolve()
    return folder if is_there else SANDBOX


def _is_loopback(base_url: str) -> bool:
    try:
        return urlsplit(base_url).hostname in LOOPBACK
    except ValueError:
        return False


def _named_sandbox() -> Path | None:
    named = os.environ.get("SANDBOX_DATA")
    return Path(named) if named else None


def profiles() -> dict[str, object]:
    """Return the stored profiles by their names.

    :raises NoCredentials: others can read the file, or it is not ours
    """
    file = profiles_file()
    if not file.is_file():
        return {}
    if stat.S_IMODE(file.stat().st_mode) & ~0o600:
        raise NoCredentials(f"{file} can be read by others: chmod 600 {file}")
    return _read(file)


def _write(document: dict[str, object]) -> None:
    write_private(profiles_file(), json.dumps(document, indent=2) + "\n")


def write_private(file: Path, text: str) -> None:
    """Replace a file in one step, so that it is never half written, nor readable by others for a moment."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
    draft.replace(file)


def _read(file: Path) -> dict[str, object]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise NoCredentials(f"{file} can't be read, or is not a JSON object.")
    return document


def _of_document(document: dict[str, object], *, source: str) -> Credentials:
    values = [document.get(name) for name in ("base_url", "api_key", "secret_key")]
    if not all(isinstance(value, str) and value for value in values):
        raise NoCredentials(f"{source} has no base_url, api_key or secret_key.")
    return _checked([str(value) for value in values], source=source)


def _checked(values: list[str], *, source: str) -> Credentials:
    """Return the keys. A file with line ends of Windows leaves a carriage return that no signature would match.

    :raises NoCredentials: a value has a blank or another character that none has
    """
    for name, value in zip(VARIABLES, values, strict=True):
        if not value.isascii() or not value.isprintable() or " " in value:
            raise NoCredentials(
                f"{name} of {source} has a blank or line end (such as \\r), or is not ASCII. Remove it."
            )
    base_url, api_key, secret_key = values
    return Credentials(base_url, api_key, secret_key, source=source)
