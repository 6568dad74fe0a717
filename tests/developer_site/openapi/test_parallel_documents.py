"""The description of the API, needed by several threads of a server that has just started."""

import subprocess
import sys


def test_first_requests_of_a_process_all_get_it():
    program = "tests.developer_site.openapi.parallel_documents"

    run = subprocess.run(
        [sys.executable, "-m", "tests.with_django", program], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
