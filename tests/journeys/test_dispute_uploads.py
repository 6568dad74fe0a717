"""Fifty uploads to one dispute at the same moment, against a service in separate processes."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import orders
from tests.uploads import PDF

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.xdist_group("journey"),
    pytest.mark.timeout(300),
]

UPLOADS = 50
LARGEST = PDF.ljust(4 * 2**20, b"0")
# Of all processes together: each of the eight threads may hold a few copies of one file. The sandbox's server also holds what
# it receives until a thread takes it, and the C library keeps freed blocks: twice all fifty files were seen there.
MEMORY = 640 * 2**20


@pytest.fixture
def dispute(service):
    """The path of a dispute of the sandbox."""
    payment = orders.card_payment(amount=50_077)
    assert service.client.post("/api/payments", payment).status_code == 201
    assert service.client.post("/api/sandbox/advance", {"payment": payment["reference"]}).status_code == 200
    [shown] = service.client.get(f"/api/disputes?payment={payment['reference']}").json()["data"]
    return f"/api/disputes/{shown['id']}"


def upload_at_once(client, path):
    """Upload the largest file fifty times, and return the answers."""
    line = threading.Barrier(UPLOADS)

    def upload(number):
        headers = {
            "Content-Type": "application/pdf",
            "Content-Disposition": f'attachment; filename="{number}.pdf"',
        }
        line.wait(timeout=60)
        return client.send("POST", f"{path}/files?kind=receipt", LARGEST, headers=headers)

    with ThreadPoolExecutor(UPLOADS) as pool:
        return list(pool.map(upload, range(UPLOADS)))


def memory_of(pid):
    """Return the most memory that a process and its children have held, in bytes."""
    process = Path(f"/proc/{pid}")
    lines = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    children = (process / "task" / str(pid) / "children").read_text().split()
    return int(lines["VmHWM"].split()[0]) * 1024 + sum(memory_of(child) for child in children)


def test_fifty_uploads_leave_ten_files(service, dispute):
    upload = {"Content-Type": "application/pdf"}
    first = service.client.send("POST", f"{dispute}/files?kind=receipt", LARGEST, headers=upload)
    assert first.status_code == 201  # the processes have loaded everything now
    before = memory_of(service.pid)

    answers = upload_at_once(service.client, dispute)

    assert Counter((each.status_code, each.json().get("code")) for each in answers) == {
        (201, None): 9,
        (409, "invalid_state"): UPLOADS - 9,
    }
    files = service.client.get(dispute).json()["evidence"]
    assert [file["size"] for file in files] == [len(LARGEST)] * 10
    assert memory_of(service.pid) - before < MEMORY
    assert "Traceback" not in service.log
