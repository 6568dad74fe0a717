"""Receive webhooks on this machine: check the signature, drop repetitions, answer, then act.

WEBHOOK_HASH_KEY=whk_... python3 receiver.py 9000
"""

import json
import os
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

from verify import is_genuine

HASH_KEY = os.environ["WEBHOOK_HASH_KEY"]
seen: set[str] = set()  # in a real service: a database column that is unique


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_genuine(HASH_KEY, self.headers.get("X-Service-Signature", ""), body):
            self._answer(400)
            print("refused: wrong signature", flush=True)
            return
        event = json.loads(body)
        is_new = event["event_id"] not in seen
        seen.add(event["event_id"])
        self._answer(204)
        if is_new:
            data = event["data"]
            shown = [data.get(name, "") for name in ("reference", "status", "response_summary")]
            print(event["event"], *shown, flush=True)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print events only."""


if __name__ == "__main__":
    port = int(sys.argv[1])
    print(f"Listening on http://127.0.0.1:{port}", flush=True)
    with suppress(KeyboardInterrupt):
        HTTPServer(("127.0.0.1", port), Receiver).serve_forever()
