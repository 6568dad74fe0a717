"""`sluice collections`: download the service's collection of requests for Postman or Bruno."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from sluice.cli.arguments import Declined, Subparsers, WrongUsage, add_caller, add_command
from sluice.cli.callers import LIVE, caller_of
from sluice.cli.output import show
from sluice.cli.streams import say
from sluice.credentials import Credentials, write_private
from sluice.transport import HttpTransport, Request

PATHS = {"postman": "/api/collections/postman.json", "bruno": "/api/collections/bruno.zip"}
POSTMAN_FILE = "sluice.postman_collection.json"
# Where the keys go. Bruno names an environment after its file.
ENVIRONMENTS = {"postman": "sluice.postman_environment.json", "bruno": "environments/With-keys.bru"}
LARGEST = 32 * 1024 * 1024  # bytes of all files
MOST_FILES = 2_000
# What an archive for Bruno may hold. Other names, such as `.git/config` and `.envrc`, are read by other programs.
FOLDER = r"(?!.*\.bru/)\w[\w .,()'-]{0,150}/"
BRUNO_FILE = re.compile(rf"bruno\.json|(?:{FOLDER}){{0,5}}\w[\w .,()'-]{{0,150}}\.bru")
NEXT_STEPS = {
    "postman": "Import it into Postman, and set the variables api_key and secret_key.",
    "bruno": "Open the folder in Bruno, choose the environment Without-keys, and set api_key and secret_key.",
}
NEXT_STEPS_WITH_KEYS = {
    "postman": "Import both files into Postman, and choose the environment.",
    "bruno": "Open the folder in Bruno, and choose the environment With-keys.",
}
HOW_TO_GET_KEYS = "Or run this command with --with-keys: it writes an environment that has your keys."


def add_to(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "collections",
        help="Download every request of the API, signed by a script, for Postman or Bruno.",
        example="sluice collections bruno --output api",
        run=run,
    )
    parser.add_argument("program", choices=sorted(PATHS), help="the program to download for")
    parser.add_argument(
        "--output", metavar="DIR", required=True, help="the folder; files of an earlier download are replaced"
    )
    parser.add_argument(
        "--with-keys", action="store_true", help="also write an environment with your keys, ignored by git"
    )
    add_caller(parser)


def run(options: argparse.Namespace) -> int:
    is_keyless = bool(options.base_url) and not options.with_keys  # the download needs no keys
    keys = Credentials(options.base_url, "", "", "--base-url") if is_keyless else caller_of(options)
    folder = Path(options.output)
    files = list(_files(options.program, _download(keys, PATHS[options.program])))
    environment = ENVIRONMENTS[options.program] if options.with_keys else None
    try:
        _refuse_links(
            folder, [name for name, _ in files] + ([".gitignore", environment] if environment else [])
        )
        for name, content in files:
            _write(folder / name, content)
        if environment:
            _ignore(folder / ".gitignore", environment)
            write_private(folder / environment, _environment(options.program, keys))
    except OSError as problem:
        raise WrongUsage(f"{problem.filename}: {problem.strerror}") from problem
    if environment and keys.api_key.startswith(LIVE):
        say(f"{folder / environment} holds a live key.")
    document = {"folder": str(folder), "files": len(files), "environment": environment}
    show(
        document,
        options,
        lines=lambda: [*_written(folder, files, environment), *_next_steps(folder, options)],
    )
    return 0


def _download(keys: Credentials, path: str) -> bytes:
    """Return the body of the answer.

    :raises WrongUsage: the address can't be one
    :raises Declined: the service has no such file
    """
    try:
        transport = HttpTransport(keys.base_url, connect_timeout=5, read_timeout=65)
    except ValueError as problem:
        raise WrongUsage(f"{problem} It comes from {keys.source}.") from None
    answer = transport.send(Request("GET", path, {}))
    transport.close()
    if answer.status != 200:  # noqa: PLR2004
        raise Declined(f"{keys.base_url}{path} answered {answer.status}. Is it a Sluice service?")
    return answer.body


def _files(program: str, body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files.

    :raises Declined: the answer can't be read, is too large, or has files that no collection has
    """
    if program == "postman":
        _refuse_other_than_an_object(body)
        yield POSTMAN_FILE, body
        return
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = archive.infolist()
            if not _is_collection(members):
                raise Declined("The service sent an archive that is not a collection.")
            yield from ((member.filename, archive.read(member)) for member in members)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as problem:
        raise Declined("The service sent no ZIP archive.") from problem


def _refuse_other_than_an_object(body: bytes) -> None:
    try:
        is_object = isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise Declined("The service sent a file that is not a collection.")


def _is_collection(members: list[zipfile.ZipInfo]) -> bool:
    names = {member.filename.casefold() for member in members}
    return (
        len(names) == len(members) <= MOST_FILES
        and sum(member.file_size for member in members) <= LARGEST
        and ENVIRONMENTS["bruno"].casefold() not in names
        and all(
            BRUNO_FILE.fullmatch(member.filename)
            and member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            for member in members
        )
    )


def _refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse to write through a symbolic link, or over anything but a file.

    :raises WrongUsage: a file or one of its folders, from `folder` on, is such
    """
    for file in map(folder.joinpath, names):
        parents = [folder, *(each for each in file.parents if folder in each.parents)]
        if link := next((each for each in [*parents, file] if each.is_symlink()), None):
            raise WrongUsage(f"{link} is a symbolic link. Choose another folder, or delete it.")
        if file.exists() and not file.is_file():
            raise WrongUsage(f"{file} is not a file. Choose another folder.")


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(file, flags, 0o666), "wb") as opened:
        opened.write(content)


def _ignore(file: Path, name: str) -> None:
    """Add a file to those that git ignores, before it is written."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    if f"/{name}" not in text.splitlines():
        line_feed = "\n" if text and not text.endswith("\n") else ""
        file.write_text(f"{text}{line_feed}/{name}\n", encoding="utf-8")


def _environment(program: str, keys: Credentials) -> str:
    """Return an environment with the keys, in the program's format."""
    values = {"base_url": keys.base_url, "api_key": keys.api_key, "secret_key": keys.secret_key}
    if program == "bruno":
        return "\n".join(["vars {", *(f"  {name}: {value}" for name, value in values.items()), "}\n"])
    listed = [
        {
            "key": name,
            "value": value,
            "type": "secret" if name == "secret_key" else "default",
            "enabled": True,
        }
        for name, value in values.items()
    ]
    document = {"name": "Sluice", "values": listed, "_postman_variable_scope": "environment"}
    return json.dumps(document, indent=2) + "\n"


def _next_steps(folder: Path, options: argparse.Namespace) -> Iterator[str]:
    if not options.with_keys:
        yield NEXT_STEPS[options.program]
        yield HOW_TO_GET_KEYS
        return
    yield NEXT_STEPS_WITH_KEYS[options.program]
    if options.program == "postman":
        files = [str(folder / POSTMAN_FILE), "-e", str(folder / ENVIRONMENTS["postman"])]
        command = shlex.join(["newman", "run", *files])
    else:
        command = f"cd {shlex.quote(str(folder))} && bru run -r --env With-keys"
    yield f"Or run it in a terminal: {command}"


def _written(folder: Path, files: list[tuple[str, bytes]], environment: str | None) -> Iterator[str]:
    what = str(folder / files[0][0]) if len(files) == 1 else f"{len(files)} files into {folder}"
    yield f"Wrote {what}"
    if environment:
        yield f"Wrote {folder / environment}, which holds your secret key; git ignores it"
