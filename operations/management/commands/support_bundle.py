from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from kit.terminal.terminal import TerminalCommand
from operations import support_bundle


class Command(TerminalCommand):
    help = (
        "Write an archive for support: versions, settings without secrets, the doctor's findings, counts, "
        "metrics, and the last lines of the given logs. It keeps only values that are known to be harmless. "
        "Example: manage.py support_bundle --log /var/log/sluice/web.log"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--output", type=Path, help="the archive (default sluice-support-<time>.zip)")
        parser.add_argument(
            "--log", type=Path, action="append", default=[], help="a log file; may be given several times"
        )
        parser.add_argument(
            "--redact", action="store_true", help="every bundle is redacted; the option is for older scripts"
        )

    def handle(self, *, output: Path | None, log: list[Path], **options: Any) -> None:
        now = timezone.now()
        target = output or Path(f"sluice-support-{now:%Y%m%d-%H%M%S}.zip")
        missing = [str(path) for path in log if not path.is_file()]
        if missing:
            raise CommandError(f"There is no log file {', '.join(missing)}.", returncode=2)
        self.stderr.write("Checking and counting; a large database takes minutes ...")
        try:
            support_bundle.write(target, logs=log, now=now, progress=self.stderr.write)
        except FileExistsError:
            raise CommandError(f"{target} already exists.", returncode=2) from None
        except OSError as problem:
            where = problem.filename or target
            raise CommandError(f"{where}: {problem.strerror}. Nothing was written.", returncode=2) from None
        self.stdout.write(f"Wrote {target}. Check it before you send it.")
