"""Two upstreams behind one address, with the proxy configuration of docs/scaling.md.

They only say who they are: `test_proxy.py` has the service itself behind the same configuration.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
import requests

from tests.clients import Credentials, signed_headers
from tests.journeys import nginx
from tests.journeys.nginx import needs_nginx
from tests.journeys.service import PROJECT

pytestmark = [needs_nginx, pytest.mark.xdist_group("clusters")]
KEY = "pk_sandbox_of_the_second"


def configuration_of_the_guide(*, second, keys):
    """Return nginx.conf with the change that the guide describes, the second cluster's address and the file of keys."""
    (block,) = re.findall(
        r"^```nginx\n(.*?)^```$", (PROJECT / "docs" / "scaling.md").read_text(), re.MULTILINE | re.DOTALL
    )
    text = f"{block}\n{nginx.CONFIGURATION}"
    for theirs, ours in (
        ("proxy_pass http://sluice;", "proxy_pass http://$cluster;"),
        ("web-b.example.com:8000", second),
        ("/etc/nginx/clusters.map", str(keys)),
    ):
        assert theirs in text
        text = text.replace(theirs, ours)
    return text


@contextmanager
def upstream(name: str) -> Iterator[str]:
    """Run a server that answers with its name, and with the request as it arrived."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            arrived = {"target": self.path, "headers": dict(self.headers), "body": body.decode()}
            answer = json.dumps({"cluster": name} | arrived).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxy")
    keys = folder / "clusters.map"
    keys.write_text(f"{KEY} sluice_b;\n")
    with upstream("first") as first, upstream("second") as second:
        text = configuration_of_the_guide(second=second, keys=keys)
        with nginx.nginx(folder, upstream=first, configuration=text) as running:
            yield running


def send(proxy, key, target="/api/payments", body=b""):
    """Send a signed request; return the cluster that it reached, and the request as it arrived."""
    headers = signed_headers(Credentials(key, "sk_sandbox_secret"), "POST", target, body)
    answer = requests.post(
        proxy.base_url + target, data=body, headers=headers, verify=proxy.certificate, timeout=30
    )
    return headers, answer.json()


def test_key_of_the_second_cluster_reaches_it_with_the_request_as_signed(proxy):
    target = "/api/payments?limit=1&after=a%2Fb"

    signed, arrived = send(proxy, KEY, target, b'{"amount": 1}')

    assert arrived["cluster"] == "second"
    assert (arrived["target"], arrived["body"]) == (target, '{"amount": 1}')
    assert arrived["headers"].items() >= signed.items()


def test_addresses_of_the_second_cluster_lead_back_through_the_proxy(proxy):
    """The service makes them from the host and the scheme of the request."""
    _, arrived = send(proxy, KEY)

    assert arrived["headers"]["Host"] == f"127.0.0.1:{proxy.tls}"
    assert arrived["headers"]["X-Forwarded-Proto"] == "https"


@pytest.mark.parametrize("key", ["pk_sandbox_of_the_first", "pk_unknown"])
def test_any_other_key_reaches_the_first_cluster(proxy, key):
    _, arrived = send(proxy, key)

    assert arrived["cluster"] == "first"
