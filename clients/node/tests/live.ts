/** Plays through every part of the API against the sandbox in SLUICE_SANDBOX. Ends with an error at the first surprise. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { DuplicateReference, InvalidRequest, metaOf, NotFound, Sluice } from "../src/index.js";

const client = Sluice.fromSandbox(process.env["SLUICE_SANDBOX"] ?? "");
const reference = `js-${randomBytes(4).toString("hex")}`;
const source = { type: "card" as const, pan: "4084084084084081", name: "Ada Obi", expiry_month: "12" as const, expiry_year: "2035", cvv: "408" };
const order = { amount: 250_000, currency: "NGN", redirect_url: "https://shop.example/done", source };

const payment = await client.payments.card({ ...order, reference });
const again = await client.payments.card({ ...order, reference });
assert.deepEqual([payment.status, metaOf(payment)?.status, metaOf(again)?.replayed], ["success", 201, true]);
const refund = await client.refunds.create(reference, { reference: `${reference}-r`, amount: 100 });
assert.equal((await client.refunds.get(refund.reference)).status, "success");
assert.equal((await client.refunds.list(reference)).data.length, 1);

const declined = await client.payments.card({ ...order, reference: `${reference}-d`, amount: 10_051 });
assert.deepEqual([declined.status, declined.response_code], ["failed", "20051"]);
await assert.rejects(client.payments.card({ ...order, reference, amount: 1 }), DuplicateReference);
await assert.rejects(client.payments.card({ ...order, reference: "a b" }), InvalidRequest);
await assert.rejects(client.payments.get("no-such-payment"), NotFound);

await client.payments.card({ ...order, reference: `${reference}-c`, capture: false });
assert.equal((await client.payments.capture(`${reference}-c`, 1000)).total_amount_captured, 1000);
await client.payments.card({ ...order, reference: `${reference}-v`, capture: false });
assert.equal((await client.payments.void(`${reference}-v`)).response_code, "20090");

const seen = [];
for await (const each of await client.payments.list({ limit: 1 })) {
  seen.push(each.reference);
  if (seen.length === 3) break;
}
assert.equal(new Set(seen).size, 3);

assert.equal((await client.cardChecks.create({ currency: "NGN", source })).status, "success");
assert.ok((await client.banks.list()).length > 10);
assert.deepEqual(await client.banks.list(), await client.banks.list());
assert.ok((await client.banks.resolve({ account_number: "0123456789", bank_code: "058" })).account_name);
assert.equal((await client.balance.get())[0]?.currency, "NGN");
assert.ok((await client.balance.movements()).data);
assert.ok((await client.settlements.list()).data);
assert.ok((await client.unappliedTransfers.list()).data);
assert.ok((await client.requests.list({ limit: 1 })).data);
assert.ok((await client.events.list()).data);

const link = await client.paymentLinks.create({ reference, title: "Workshop", amount: 50_000, currency: "NGN", max_uses: 3 });
assert.equal((await client.paymentLinks.update(link.reference, { max_uses: null })).max_uses ?? null, null);
assert.equal((await client.paymentLinks.deactivate(reference)).status, "inactive");
assert.equal((await client.paymentLinks.activate(reference)).status, "active");
assert.equal((await client.paymentLinks.checkouts(reference)).data.length, 0);

for (const scenario of await client.sandbox.scenarios()) {
  const played = await client.sandbox.play(scenario.name);
  assert.equal(played.responseCode, scenario.ends.response_code, scenario.name);
}
console.log("ok");
