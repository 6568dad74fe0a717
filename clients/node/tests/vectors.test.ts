import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { signing, webhooks } from "../src/index.js";

interface Vectors {
  secret_key: string;
  api_key: string;
  requests: {
    name: string; method: string; target: string; timestamp: string; nonce: string; body_base64: string;
    string_to_sign: string; signature: string;
  }[];
  webhook: { hash_key: string; body: string; signature: string; empty_body_signature: string };
}
const file = new URL("../../../../tests/data/signing_vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vectors;

for (const vector of vectors.requests) {
  test(`reproduces the vector ${vector.name}`, () => {
    const { method, target, timestamp, nonce } = vector;
    const body = Buffer.from(vector.body_base64, "base64");

    const text = signing.stringToSign({ method, target, timestamp, nonce, body });
    const headers = signing.headers({
      apiKey: vectors.api_key, secretKey: vectors.secret_key, method, target, body, nonce, timestamp: Number(timestamp),
    });

    assert.equal(text, vector.string_to_sign);
    assert.equal(headers["X-Signature"], vector.signature);
  });
}

test("reproduces the vectors of webhooks", () => {
  const { hash_key, body, signature, empty_body_signature } = vectors.webhook;

  assert.equal(webhooks.sign(Buffer.from(body), hash_key), signature);
  assert.equal(webhooks.sign(Buffer.from(""), hash_key), empty_body_signature);
});
