/**
 * Calls every method of clients/surface.json, and plays every scenario, against the sandbox in SLUICE_SANDBOX. Needs a
 * delivered event, a waiting one and a settlement, and keys that may decide. Ends with an error at the first surprise.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { DuplicateReference, InvalidRequest, metaOf, NotFound, Sluice } from "../src/index.js";

type Groups = Record<string, Record<string, { operations: string[] }>>;
type Document = { paths: Record<string, Record<string, { operationId: string }>> };

const { groups } = JSON.parse(readFileSync("../surface.json", "utf8")) as { groups: Groups };
const folder = process.env["SLUICE_SANDBOX"] ?? "";
const plain = Sluice.fromSandbox(folder); // makes what the calls need
const document = (await plain.call("GET", "/api/openapi.json")) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    method: method.toUpperCase(), path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`), operationId,
  })));
const called = new Set<string>();
const client = Sluice.fromSandbox(folder, {
  fetch: (url, init) => {
    const found = operations.filter(({ method, path }) => method === init.method && path.test(url.pathname));
    for (const { operationId } of found) called.add(operationId);
    return fetch(url, init);
  },
});

const source = { type: "card" as const, pan: "4084084084084081", name: "Ada Obi", expiry_month: "12" as const, expiry_year: "2035", cvv: "408" };
const address = { address_line1: "12 Marina", city: "Lagos", state: "Lagos", postal_code: "101241", country: "NGA" };
const name = { first_name: "Ada", last_name: "Obi" };
const person = { ...name, middle_name: "Ngozi", phone_number: "08012345678", dob: "1990-12-31", gender: "female" as const };
const bankAccount = { account_number: "0123456789", bank_code: "058" };
const bvn = "22212345678";

function reference(): string {
  return `js-${randomBytes(6).toString("hex")}`;
}

function order() {
  return { reference: reference(), amount: 250_000, currency: "NGN", redirect_url: "https://shop.example/done", source };
}

function account() {
  return { reference: reference(), email: "ada@shop.example", currency: "NGN", address };
}

async function paid(more: object = {}): Promise<string> {
  return (await plain.payments.card({ ...order(), ...more })).reference;
}

async function opened() {
  return plain.virtualAccounts.dynamic({ ...account(), ...name });
}

async function expected() {
  const { id } = await opened();
  return { reference: reference(), amount: 5_000, currency: "NGN", expiry_duration: 600, payment_method_id: id };
}

async function awaited() {
  return plain.payments.transfer(await expected());
}

function linked() {
  return { reference: reference(), title: "Workshop", amount: 50_000, currency: "NGN", max_uses: 3 };
}

async function link(): Promise<string> {
  return (await plain.paymentLinks.create(linked())).reference;
}

/** Returns a batch of one payout, to an account of its own: the same payout again is a duplicate. */
function batched(amount = 5_000, more: object = {}) {
  const accountNumber = String(randomBytes(4).readUInt32BE() % 10_000_000).padStart(10, "0");
  const customer = { name: "Ada Obi", account_number: accountNumber, bank_code: "058" };
  return { reference: reference(), title: "Suppliers", payouts: [{ reference: reference(), amount, currency: "NGN", customer }], ...more };
}

async function until(batch: string, status: (now: string) => boolean): Promise<string> {
  while (!status((await plain.payoutBatches.get(batch)).status)) await new Promise((resolve) => setTimeout(resolve, 200));
  return batch;
}

async function checked(amount = 5_000, more: object = {}): Promise<string> {
  const made = await plain.payoutBatches.create(batched(amount, more));
  return until(made.reference, (status) => status !== "checking");
}

async function scheduled(): Promise<string> {
  const tomorrow = new Date(Date.now() + 24 * 3600 * 1000).toISOString();
  return (await plain.payoutBatches.approve(await checked(5_000, { run_at: tomorrow }))).reference;
}

async function failedBatch(): Promise<string> {
  const made = await checked(20_051);
  await plain.payoutBatches.approve(made);
  return until(made, (status) => status === "completed");
}

function endpoint() {
  return { url: `http://127.0.0.1:9/${randomBytes(8).toString("hex")}`, subscribed_events: ["refund.success" as const] };
}

async function madeEndpoint() {
  const made = (await plain.webhookEndpoints.list()).data;
  // The first one can't be deleted.
  while (made.length < 2) made.push(await plain.webhookEndpoints.create(endpoint()));
  return made[made.length - 1]!.id;
}

function beneficiary() {
  return { reference: reference(), name: "Ada Obi", note: "Rent", ...bankAccount };
}

async function saved(): Promise<string> {
  return (await plain.beneficiaries.create(beneficiary())).reference;
}

/** Returns a released settlement of which a part is held. */
async function reserved(): Promise<string> {
  await paid();
  const batch = (await plain.sandbox.closeDay()).batches.find((each) => each.reserved);
  assert.ok(batch);
  return batch.id;
}

async function refunded(): Promise<string> {
  return (await plain.refunds.create(await paid(), { reference: reference(), amount: 100 })).reference;
}

function first<T>(page: { data: T[] }): T {
  assert.ok(page.data[0] !== undefined);
  return page.data[0];
}

async function disputed(): Promise<string> {
  const reference = await paid({ amount: 50_077 });
  await plain.sandbox.advancePayment(reference);
  return first(await plain.disputes.list({ payment: reference })).id;
}

async function unapplied(): Promise<string> {
  await plain.sandbox.play("transfer.unapplied");
  return first(await plain.unappliedTransfers.list({ state: "open", limit: 1 })).id;
}

async function delivered(): Promise<string> {
  return first(await plain.events.list({ state: "delivered", limit: 1 })).event_id;
}

async function waiting(): Promise<string> {
  const { data } = await plain.events.list({ state: "waiting" });
  return first({ data: data.sort((one, other) => (other.next_attempt_at ?? "").localeCompare(one.next_attempt_at ?? "")) }).event_id;
}

async function ofClient() {
  const { name: listener } = await plain.sandbox.listener("laptop").begin();
  return { target: "client", listener } as const;
}

/** Ends an exam, so that another one can start. */
async function reported(exam: { id: string }): Promise<string> {
  return (await plain.sandbox.reportExam(exam.id, { answers: [] })).id;
}

async function examined(): Promise<string> {
  return reported(await plain.sandbox.exam(await ofClient()));
}

async function transfer() {
  const { virtual_account_details: details, amount } = await awaited();
  return { account_number: details?.account_number ?? "", amount };
}

const calls: Record<string, () => Promise<unknown>> = {
  "payments.card": () => client.payments.card(order()),
  "payments.transfer": async () => client.payments.transfer(await expected()),
  "payments.create": () => client.payments.create({ request_type: "payment", payment_method: "card", ...order() }),
  "payments.get": async () => client.payments.get(await paid()),
  "payments.list": () => client.payments.list({ status: "success", limit: 1 }),
  "payments.capture": async () => client.payments.capture(await paid({ capture: false }), 1_000),
  "payments.void": async () => client.payments.void(await paid({ capture: false })),
  "payments.cancel": async () => client.payments.cancel((await awaited()).reference),
  "payments.wait": async () => client.payments.wait(await paid(), 5),
  "payouts.create": () =>
    client.payouts.create({ reference: reference(), amount: 100, currency: "NGN", customer: { name: "Ada Obi", ...bankAccount } }),
  "card_checks.create": () => client.cardChecks.create({ currency: "NGN", source }),
  "refunds.create": async () => client.refunds.create(await paid(), { reference: reference(), reason: "Returned" }),
  "refunds.get": async () => client.refunds.get(await refunded()),
  "refunds.list": async () => client.refunds.list(await paid(), { limit: 1 }),
  "virtual_accounts.static": () => client.virtualAccounts.static({ ...account(), ...person, bvn }),
  "virtual_accounts.business": () =>
    client.virtualAccounts.business({ ...account(), business_name: "Ada Books Ltd", phone_number: "08012345678", bvn }),
  "virtual_accounts.dynamic": () => client.virtualAccounts.dynamic({ ...account(), ...name }),
  "virtual_accounts.get": async () => client.virtualAccounts.get((await opened()).reference),
  "virtual_accounts.list": () => client.virtualAccounts.list({ type: "dynamic", limit: 1 }),
  "virtual_accounts.deactivate": async () => client.virtualAccounts.deactivate((await opened()).reference),
  "virtual_accounts.simulate_transfer": async () => client.virtualAccounts.simulateTransfer(await transfer()),
  "banks.list": () => client.banks.list(),
  "banks.resolve": () => client.banks.resolve(bankAccount),
  "capabilities.list": () => client.capabilities.list(),
  "balance.get": () => client.balance.get(),
  "balance.movements": () => client.balance.movements({ currency: "NGN" }),
  "settlements.list": () => client.settlements.list({ currency: "NGN" }),
  "settlements.get": async () => client.settlements.get(first(await plain.settlements.list()).id, { limit: 1 }),
  "disputes.list": () => client.disputes.list({ status: "needs_response" }),
  "disputes.get": async () => client.disputes.get(await disputed()),
  "disputes.add_evidence": async () => client.disputes.addEvidence(await disputed(), { kind: "delivery", text: "Handed over." }),
  "disputes.remove_evidence": async () => {
    const dispute = await disputed();
    const added = await plain.disputes.addEvidence(dispute, { kind: "delivery", text: "Handed over." });
    return (await client.disputes.removeEvidence(dispute, added.id)) === undefined;
  },
  "disputes.submit": async () => client.disputes.submit(await disputed(), { leave_out: ["other_payments"] }),
  "disputes.accept": async () => client.disputes.accept(await disputed(), { amount: 20_000 }),
  "unapplied_transfers.list": () => client.unappliedTransfers.list({ state: "open" }),
  "unapplied_transfers.credit": async () => client.unappliedTransfers.credit(await unapplied(), { reason: "Paid twice" }),
  "unapplied_transfers.return": async () =>
    client.unappliedTransfers.return(await unapplied(), { reason: "Paid twice", destination: { name: "Ada Obi", ...bankAccount } }),
  "payout_batches.create": () => client.payoutBatches.create(batched()),
  "payout_batches.get": async () => client.payoutBatches.get(await checked()),
  "payout_batches.list": () => client.payoutBatches.list({ status: "ready", limit: 1 }),
  "payout_batches.payouts": async () => client.payoutBatches.payouts(await checked(), { limit: 1 }),
  "payout_batches.approve": async () => client.payoutBatches.approve(await checked(), { as_far_as_balance: true }),
  "payout_batches.cancel": async () => client.payoutBatches.cancel(await checked()),
  "payout_batches.retry": async () => client.payoutBatches.retry(await failedBatch()),
  "webhook_endpoints.create": () => client.webhookEndpoints.create(endpoint()),
  "webhook_endpoints.get": async () => client.webhookEndpoints.get(await madeEndpoint()),
  "webhook_endpoints.list": () => client.webhookEndpoints.list({ limit: 1 }),
  "webhook_endpoints.update": async () => client.webhookEndpoints.update(await madeEndpoint(), { enabled: false, description: null }),
  "webhook_endpoints.rotate": async () => client.webhookEndpoints.rotate(await madeEndpoint(), { overlap_hours: 1 }),
  "webhook_endpoints.delete": async () => (await client.webhookEndpoints.delete(await madeEndpoint())) === undefined,
  "beneficiaries.create": () => client.beneficiaries.create(beneficiary()),
  "beneficiaries.get": async () => client.beneficiaries.get(await saved()),
  "beneficiaries.list": () => client.beneficiaries.list({ limit: 1 }),
  "beneficiaries.update": async () => client.beneficiaries.update(await saved(), { note: null, email: "ada@shop.example" }),
  "beneficiaries.delete": async () => (await client.beneficiaries.delete(await saved())) === undefined,
  "payment_links.create": () => client.paymentLinks.create(linked()),
  "payment_links.get": async () => client.paymentLinks.get(await link()),
  "payment_links.list": () => client.paymentLinks.list({ status: "active", limit: 1 }),
  "payment_links.update": async () => client.paymentLinks.update(await link(), { max_uses: null, title: "Another" }),
  "payment_links.activate": async () => client.paymentLinks.activate(await link()),
  "payment_links.deactivate": async () => client.paymentLinks.deactivate(await link()),
  "payment_links.checkouts": async () => client.paymentLinks.checkouts(await link(), { limit: 1 }),
  "events.list": () => client.events.list({ state: "delivered" }),
  "events.get": async () => client.events.get(await delivered()),
  "events.resend": async () => client.events.resend(await delivered(), { to: "endpoint" }),
  "requests.list": () => client.requests.list({ status_class: "2", limit: 1 }),
  "sandbox.scenarios": () => client.sandbox.scenarios(),
  "sandbox.play": () => client.sandbox.play("payment.success", { "pay.amount": 50_000 }),
  "sandbox.listener": async () => {
    const listener = client.sandbox.listener(`node-${randomBytes(6).toString("hex")}`);
    await listener.begin(["payment.success"]);
    await listener.poll({ wait: 0 });
    return listener.end();
  },
  "sandbox.advance_payment": async () => client.sandbox.advancePayment((await awaited()).reference),
  "sandbox.advance_payout_batch": async () => client.sandbox.advancePayoutBatch(await scheduled()),
  "sandbox.advance_event": async () => client.sandbox.advanceEvent(await waiting()),
  "sandbox.close_day": () => client.sandbox.closeDay("approved"),
  "sandbox.return_reserve": async () => client.sandbox.returnReserve(await reserved()),
  "sandbox.exam": async () => reported(await client.sandbox.exam(await ofClient())),
  "sandbox.get_exam": async () => client.sandbox.getExam(await examined()),
  "sandbox.report_exam": async () => client.sandbox.reportExam(await examined(), { acted: "1" }),
};

const methods = Object.entries(groups)
  .flatMap(([group, named]) => Object.entries(named).map(([method, { operations: ids }]) => [`${group}.${method}`, ids] as const));
assert.deepEqual(Object.keys(calls).sort(), methods.map(([method]) => method).sort(), "Add a call of the new method here.");
for (const [method, ids] of methods) {
  called.clear();
  assert.ok(await calls[method]?.(), method);
  const expectedIds = method === "sandbox.play" ? [...ids, "createPayment"] : ids;
  assert.deepEqual([...called].sort(), [...expectedIds].sort(), method);
}

const given = order();
const payment = await client.payments.card(given);
const again = await client.payments.card(given);
assert.deepEqual([payment.status, metaOf(payment)?.status, metaOf(again)?.replayed], ["success", 201, true]);
const declined = await client.payments.card({ ...order(), amount: 10_051 });
assert.deepEqual([declined.status, declined.response_code], ["failed", "20051"]);
await assert.rejects(client.payments.card({ ...given, amount: 1 }), DuplicateReference);
await assert.rejects(client.payments.card({ ...order(), reference: "a b" }), InvalidRequest);
await assert.rejects(client.payments.get("no-such-payment"), NotFound);

const seen = [];
for await (const each of await client.payments.list({ limit: 1 })) {
  seen.push(each.reference);
  if (seen.length === 3) break;
}
assert.equal(new Set(seen).size, 3);
assert.equal(await client.banks.list(), await client.banks.list()); // fetched once, and then only after a change

assert.ok((await client.sandbox.closeDay()).batches.every((batch) => batch.status === "released"));
assert.deepEqual((await client.sandbox.closeDay("pending")).batches, []);

for (const scenario of await client.sandbox.scenarios()) {
  const played = await client.sandbox.play(scenario.name);
  assert.deepEqual([played.status, played.responseCode], [scenario.ends.status, scenario.ends.response_code], scenario.name);
  await new Promise((resolve) => setTimeout(resolve, 100)); // the sandbox takes 20 of its own calls a second
}
console.log("ok");
