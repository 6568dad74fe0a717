import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { webhooks } from "../src/index.js";
import { event, sign } from "../src/testing.js";

const KEY = "whk_test";

test("reads an event of each kind that it knows", () => {
  const body = event("payment.success", { reference: "r-1" });

  const found = webhooks.parse(body, sign(body, KEY), ["whk_other", KEY]);

  assert.equal(found.event, "payment.success");
  if (found.event === "payment.success") assert.equal(found.data.reference, "r-1");
});

test("accepts kinds that it does not know", () => {
  const body = event("payment.chargeback");

  const found = webhooks.parse(body, sign(body, KEY), KEY);

  assert.equal(found.event, "unknown");
  if (found.event === "unknown") assert.equal(found.name, "payment.chargeback");
});

test("refuses another signature, body or key", () => {
  const body = event();
  const signature = sign(body, KEY);

  for (const given of [null, undefined, "", "0".repeat(64), signature.slice(1), signature.toUpperCase(), "é".repeat(64)]) {
    assert.throws(() => webhooks.parse(body, given, KEY), webhooks.InvalidSignature);
  }
  assert.throws(() => webhooks.parse(Buffer.concat([body, Buffer.from("\n")]), signature, KEY), webhooks.InvalidSignature);
  assert.throws(() => webhooks.parse(body, signature, "whk_other"), webhooks.InvalidSignature);
});

test("says that it needs the raw bytes, and a key", () => {
  const body = event();

  for (const wrong of [Buffer.from(body).toString(), JSON.parse(Buffer.from(body).toString())] as never[]) {
    assert.throws(() => webhooks.parse(wrong, "x", KEY), /is an? (string|object): pass the raw bytes, before anything parses/);
  }
  for (const keys of ["", [], ["", KEY], undefined as never]) assert.throws(() => webhooks.parse(body, "x", keys), /empty/);
});

test("tells a signed body that is no event from a forged one", () => {
  for (const text of ["", "{}", "[]", "1", '{"event":"payment.success"}']) {
    const body = Buffer.from(text);
    assert.throws(() => webhooks.parse(body, sign(body, KEY), KEY), webhooks.MalformedEvent);
  }
});

test("names the kind of a body that is not bytes", () => {
  assert.throws(() => webhooks.parse({} as never, "x", KEY), /^TypeError: The body is an object: pass/);
  assert.throws(() => webhooks.parse("{}" as never, "x", KEY), /^TypeError: The body is a string: pass/);
});

/** The headers of Standard Webhooks, written from its specification. */
function standard(body: Uint8Array, { key = KEY, age = 0 } = {}) {
  const timestamp = String(Math.floor(Date.now() / 1000) - age);
  const digest = createHmac("sha256", key).update(`msg_1.${timestamp}.`).update(body).digest("base64");
  return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${digest}` };
}

const SECRET = `whsec_${Buffer.from(KEY).toString("base64")}`;

test("accepts all headers, of either scheme, with either text of the key", () => {
  const body = event();

  for (const headers of [{ "X-Service-Signature": sign(body, KEY) }, standard(body), new Headers(standard(body))]) {
    for (const key of [KEY, SECRET, ["whk_other", SECRET]]) assert.ok(webhooks.parse(body, headers, key).event_id);
  }
});

test("reproduces the vector of Standard Webhooks", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 1_614_265_330_000 });
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };

  webhooks.verify(Buffer.from('{"test": 2432232314}'), headers, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
});

test("accepts the previous key, and any of several signatures", () => {
  const body = event();
  const rotated = { "x-service-signature": sign(body, "whk_new"), "x-service-signature-previous": sign(body, KEY) };
  const [newer, older] = [standard(body, { key: "whk_new" }), standard(body)];
  const both = { ...newer, "webhook-signature": `v1a,x ${newer["webhook-signature"]} ${older["webhook-signature"]}` };

  for (const key of [KEY, "whk_new"]) {
    webhooks.verify(body, rotated, key);
    webhooks.verify(body, both, key);
  }
});

test("accepts timestamps of Standard Webhooks for five minutes", () => {
  const body = event();

  for (const age of [290, -290]) webhooks.verify(body, standard(body, { age }), KEY);
  for (const age of [310, -310]) {
    assert.throws(() => webhooks.verify(body, standard(body, { age }), KEY), /more than five minutes/);
  }
});

test("refuses headers of Standard Webhooks that were changed", () => {
  const body = event();
  const right = standard(body);

  for (const change of [
    { "webhook-id": "msg_2" }, { "webhook-timestamp": String(Number(right["webhook-timestamp"]) + 100) },
    { "webhook-timestamp": "now" }, { "webhook-timestamp": undefined }, { "webhook-signature": "" },
    { "webhook-signature": "v1," }, { "webhook-signature": right["webhook-signature"].replace("v1,", "v2,") },
  ]) {
    assert.throws(() => webhooks.verify(body, { ...right, ...change }, KEY), webhooks.InvalidSignature);
  }
  assert.throws(() => webhooks.verify(body, {}, KEY), webhooks.InvalidSignature);
  assert.throws(() => webhooks.verify(Buffer.from("{}"), right, KEY), webhooks.InvalidSignature);
  assert.throws(() => webhooks.verify(body, right, "whk_other"), webhooks.InvalidSignature);
  for (const key of ["whsec_", "whsec_!", "whsec_abc"]) {
    assert.throws(() => webhooks.verify(body, right, key), /is it complete/);
  }
});
