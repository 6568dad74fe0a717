"""Two complete clusters behind one address, with the proxy configuration of docs/scaling.md."""

import json
import re
from urllib.parse import urlsplit

import pytest
import requests

from tests import orders
from tests.clients import signed_headers
from tests.journeys import nginx
from tests.journeys.nginx import needs_nginx
from tests.journeys.service import PROJECT, start_service

pytestmark = [pytest.mark.journey, needs_nginx]


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


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Both services, and the proxy in front of them."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second", "proxy")]
    with start_service(folders[0]) as first, start_service(folders[1]) as second:
        keys = folders[2] / "clusters.map"
        keys.write_text(f"{second.credentials.api_key} sluice_b;\n")
        text = configuration_of_the_guide(second=urlsplit(second.base_url).netloc, keys=keys)
        upstream = urlsplit(first.base_url).netloc
        with nginx.nginx(folders[2], upstream=upstream, configuration=text) as proxy:
            yield first, second, proxy


def send(proxy, credentials, method, target, body=b""):
    headers = signed_headers(credentials, method, target, body) | {"Content-Type": "application/json"}
    url = f"{proxy.base_url}{target}"
    return requests.request(method, url, data=body, headers=headers, verify=proxy.certificate, timeout=30)


def test_each_key_reaches_its_own_cluster(clusters):
    first, second, proxy = clusters
    for own, other in ((first, second), (second, first)):
        order = orders.card_payment()
        paid = send(proxy, own.credentials, "POST", "/api/payments", json.dumps(order).encode())

        assert paid.status_code == 201
        target = f"/api/payments/{order['reference']}"
        assert send(proxy, own.credentials, "GET", target).json() == paid.json()
        assert own.client.get(target).json() == paid.json()
        assert other.client.get(target).status_code == 404


def test_addresses_in_answers_lead_back_through_the_proxy(clusters):
    _, second, proxy = clusters
    for _ in range(2):
        send(proxy, second.credentials, "POST", "/api/payments", json.dumps(orders.card_payment()).encode())

    page = send(proxy, second.credentials, "GET", "/api/payments?limit=1").json()

    address = urlsplit(page["next"])
    assert address.netloc == f"127.0.0.1:{proxy.tls}"
    assert len(send(proxy, second.credentials, "GET", f"{address.path}?{address.query}").json()["data"]) == 1


def test_unknown_key_is_refused_by_the_first_cluster(clusters):
    _, second, proxy = clusters
    headers = signed_headers(second.credentials, "GET", "/api/banks") | {"X-Api-Key": "pk_unknown"}

    refused = requests.get(
        f"{proxy.base_url}/api/banks", headers=headers, verify=proxy.certificate, timeout=30
    )

    assert refused.status_code == 401
    assert refused.json()["code"] == "unknown_key"
