"""Socket activation as by systemd: the program inherits the socket as file descriptor 3.

python -m tests.faults.socket_activation 12 gunicorn …
"""

import os
import sys

FIRST = 3  # SD_LISTEN_FDS_START


def main() -> None:
    listening, *module = sys.argv[1:]
    os.dup2(int(listening), FIRST)
    environment = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    os.execve(sys.executable, [sys.executable, "-m", *module], os.environ | environment)  # noqa: S606


if __name__ == "__main__":
    main()
