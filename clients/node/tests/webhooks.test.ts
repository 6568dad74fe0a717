import assert from "node:assert/strict";
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
