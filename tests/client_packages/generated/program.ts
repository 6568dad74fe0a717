// A merchant's program on the types that openapi-typescript generates: prints what it saw as JSON.
//
// SLUICE_BASE_URL, SLUICE_API_KEY and SLUICE_SECRET_KEY say whose sandbox it is.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import createClient from "openapi-fetch";

import type { components, paths } from "./schema.js";
import { signedFetch } from "./sign_fetch.js";

const { SLUICE_BASE_URL: baseUrl = "", SLUICE_API_KEY: apiKey = "", SLUICE_SECRET_KEY: secretKey = "" } = process.env;
const client = createClient<paths>({ baseUrl, fetch: signedFetch(apiKey, secretKey) });
const reference = `generated-${randomBytes(6).toString("hex")}`;

function order(changes: { reference: string; amount?: number }): components["schemas"]["CardPaymentRequest"] {
  return {
    request_type: "payment",
    payment_method: "card",
    amount: 250_000,
    currency: "NGN",
    redirect_url: "https://shop.example/done",
    source: { type: "card", pan: "4084084084084081", name: "Ada Obi", expiry_month: "12", expiry_year: "2035", cvv: "408" },
    ...changes,
  };
}

const paid = await client.POST("/api/payments", { body: order({ reference }) });
assert.ok(paid.data);
const refused = await client.POST("/api/payments", { body: order({ reference: `${reference}-declined`, amount: 10_051 }) });
assert.ok(refused.data);
const invalid = await client.POST("/api/payments", { body: order({ reference: `${reference}-0`, amount: 0 }) });
assert.ok(invalid.error && "errors" in invalid.error);
const duplicate = await client.POST("/api/payments", { body: order({ reference, amount: 1 }) });
assert.ok(duplicate.error?.code === "duplicate_reference" && "existing" in duplicate.error);
const conflict = await client.POST("/api/payments/{reference}/refunds", {
  params: { path: { reference: `${reference}-declined` } },
  body: { reference: `${reference}-refund` },
});
assert.ok(conflict.error);

const first = await client.GET("/api/payments", { params: { query: { limit: 1 } } });
assert.ok(first.data?.next);
const cursor = new URL(first.data.next).searchParams.get("cursor") ?? "";
const second = await client.GET("/api/payments", { params: { query: { limit: 1, cursor } } });
assert.ok(second.data);

console.log(JSON.stringify({
  payment: [paid.data.status, paid.data.response_code],
  decline: [refused.data.status, refused.data.response_code],
  fields: invalid.error.errors?.map(({ field }) => field),
  duplicate: [duplicate.error.code, duplicate.error.existing.status],
  conflict: [conflict.error.status, conflict.error.code],
  pages: [...first.data.data, ...second.data.data].map((each) => each.reference.slice(reference.length)),
}));
