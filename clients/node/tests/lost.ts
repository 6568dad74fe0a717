/**
 * Makes each kind of write against the service in SLUICE_SANDBOX, behind a proxy that loses the first answer of each.
 * Ends with an error if one is not returned, or if a simulated transfer is repeated.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { metaOf, OutcomeUnknown, Sluice } from "../src/index.js";

const client = Sluice.fromSandbox(process.env["SLUICE_SANDBOX"] ?? "");
const reference = `lost-${randomBytes(6).toString("hex")}`;
const source = { type: "card" as const, pan: "4084084084084081", name: "Ada Obi", expiry_month: "12" as const, expiry_year: "2035", cvv: "408" };
const order = { amount: 250_000, currency: "NGN", redirect_url: "https://shop.example/done", source };
const customer = { name: "Ada Obi", account_number: "0123456789", bank_code: "058" };
const address = { address_line1: "12 Marina", city: "Lagos", state: "Lagos", postal_code: "101241", country: "NGA" };

/** Returns a result that must be that of the first, lost answer. */
async function replayed<T extends object>(call: Promise<T>): Promise<T> {
  const result = await call;
  assert.ok(metaOf(result)?.replayed);
  return result;
}

assert.equal((await replayed(client.payments.card({ ...order, reference }))).status, "success");
assert.equal((await replayed(client.refunds.create(reference, { reference: `${reference}-r`, amount: 100 }))).status, "success");
assert.equal((await client.payments.get(reference)).total_amount_refunded, 100);
assert.equal((await replayed(client.cardChecks.create({ currency: "NGN", source }))).status, "success");
await replayed(client.payouts.create({ reference: `${reference}-p`, amount: 100, currency: "NGN", customer }));
await replayed(client.virtualAccounts.dynamic({
  reference, email: "ada@shop.example", currency: "NGN", first_name: "Ada", last_name: "Obi", address,
}));

await replayed(client.payments.card({ ...order, reference: `${reference}-c`, capture: false }));
assert.equal((await replayed(client.payments.capture(`${reference}-c`, 1000))).total_amount_captured, 1000);
await replayed(client.payments.card({ ...order, reference: `${reference}-v`, capture: false }));
assert.equal((await replayed(client.payments.void(`${reference}-v`))).response_code, "20090");

await assert.rejects(client.virtualAccounts.simulateTransfer({ account_number: "0123456789", amount: 5000 }), OutcomeUnknown);
console.log("ok");
