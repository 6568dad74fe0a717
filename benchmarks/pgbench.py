"""PostgreSQL's own client as a yardstick."""

import subprocess


def pgbench_rate(url: str, script: str, *, clients: int, seconds: int) -> float:
    """Run the script in that file in a closed loop; return its transactions per second."""
    command = ["pgbench", "-n", "-c", str(clients), "-j", "2", "-T", str(seconds), "-f", script, url]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    return float(line.split()[2])
