import assert from "node:assert/strict";
import { createServer } from "node:net";
import { inspect } from "node:util";
import { test } from "node:test";

import * as sluice from "../src/index.js";
import { BY_CODE } from "../src/errors.js";

const SECRET = "sk_canary_4084084084084081";
const PAYMENT = { reference: "order-1", status: "success", amount: 500 };
const CARD = { type: "card", pan: "4084084084084081", name: "Ada Obi", expiry_month: "12", expiry_year: "2035", cvv: "408" };

interface Sent { url: URL; init: RequestInit & { headers: Record<string, string>; body?: string } }

function answer(document: unknown = PAYMENT, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(document), { status, headers });
}

function problem(status: number, code: string, more: object = {}, headers: Record<string, string> = {}): Response {
  return answer({ status, code, title: "Title", detail: "Detail.", ...more }, status, headers);
}

function lost(code = "ECONNRESET"): Error {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
}

/** Returns a client whose service gives these answers, and what it sent. Waits take no time. */
function client(answers: (Response | Error)[], options: sluice.SluiceOptions = {}): { made: sluice.Sluice; sent: Sent[]; warned: string[] } {
  const sent: Sent[] = [];
  const warned: string[] = [];
  const made = new sluice.Sluice("https://pay.example", "pk_1", SECRET, {
    fetch: (url, init) => {
      sent.push({ url, init: init as Sent["init"] });
      const next = answers.shift() ?? new Error("No answer is left.");
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
    warn: (message) => warned.push(message),
    ...options,
  });
  return { made, sent, warned };
}

test("signs the path and query of the URL and the very bytes that are sent", async () => {
  const { made, sent } = client([answer(), answer({ data: [], next: null })]);

  await made.payouts.create({ reference: "p:1", amount: 1, currency: "NGN", customer: { name: "Ọ̀rẹ́", account_number: "0123456789", bank_code: "058" } });
  await made.call("GET", "/api/payments?a=%3a b");

  for (const { url, init } of sent) {
    const text = sluice.signing.stringToSign({
      timestamp: init.headers["X-Timestamp"] ?? "", nonce: init.headers["X-Nonce"] ?? "", method: init.method ?? "",
      target: url.pathname + url.search, body: init.body ?? "",
    });
    assert.equal(init.headers["X-Signature"], sluice.signing.sign(SECRET, text));
    assert.equal(init.redirect, "manual");
  }
  assert.equal(sent[1]?.url.search, "?a=%3a%20b");
});

test("repeats the same bytes with a new signature", async () => {
  for (const trouble of [lost(), lost("ECONNREFUSED"), problem(500, "internal_error"), problem(429, "rate_limited")]) {
    const { made, sent } = client([trouble, answer(PAYMENT, 201)]);

    await made.payments.create({ reference: "p-1" } as never);

    assert.equal(new Set(sent.map(({ init }) => init.body)).size, 1);
    assert.equal(new Set(sent.map(({ init }) => init.headers["X-Nonce"])).size, 2);
  }
});

test("repeats captures, voids and cancellations, and never what would happen twice", async () => {
  for (const call of ["capture", "void", "cancel"] as const) {
    const { made, sent } = client([lost(), answer()]);
    await made.payments[call]("order-1");
    assert.equal(sent.length, 2);
  }
  const { made, sent } = client([lost(), lost()]);
  await assert.rejects(made.virtualAccounts.simulateTransfer({ account_number: "0123456789", amount: 1 }), sluice.OutcomeUnknown);
  await assert.rejects(made.events.resend("e-1"), sluice.OutcomeUnknown);
  assert.equal(sent.length, 2);
});

test("names the reference whose outcome is unknown", async () => {
  const { made } = client([lost()], { retries: 0 });

  await assert.rejects(made.payments.create({ reference: "p-1" } as never), (error) =>
    error instanceof sluice.OutcomeUnknown && error.reference === "p-1" && error.message.includes("look up or repeat"));
});

test("tells what was not sent from what is unknown", async () => {
  const { made } = client([lost("ECONNREFUSED"), lost("ECONNRESET")], { retries: 0 });

  await assert.rejects(made.payments.get("r"), sluice.NotSent);
  await assert.rejects(made.payments.get("r"), sluice.OutcomeUnknown);
});

test("obeys Retry-After up to half a minute", async () => {
  const { made, sent } = client([problem(429, "rate_limited", {}, { "Retry-After": "31" })]);

  await assert.rejects(made.payments.get("r"), (error) => error instanceof sluice.RateLimited && error.retryAfter === 31);
  assert.equal(sent.length, 1);
});

test("throws the class of the code, or else of the status", async () => {
  for (const [status, code, kind] of [
    [409, "duplicate_reference", sluice.DuplicateReference],
    [409, "something_new", sluice.Conflict],
    [418, "something_new", sluice.InvalidRequest],
    [302, "", sluice.ApiError],
  ] as const) {
    const { made } = client([problem(status, code)]);
    await assert.rejects(made.payments.get("r"), (error) => error instanceof kind && error.constructor === kind);
  }
  assert.equal(BY_CODE.size, 38);
});

test("lists every wrong field", async () => {
  const errors = [{ field: "amount", code: "required", message: "This field is required." }];
  const { made } = client([problem(400, "invalid_request", { errors })]);

  await assert.rejects(made.payments.create({} as never), /amount: This field is required/);
});

test("corrects the clock with a warning, unless it is asked not to or a day off", async () => {
  const now = Math.floor(Date.now() / 1000);
  const { made, sent, warned } = client([problem(401, "timestamp_out_of_range", { server_time: now + 600 }), answer(), answer()]);
  await made.payments.get("r");
  await made.payments.get("r");
  const times = sent.map(({ init }) => Number(init.headers["X-Timestamp"]) - now);
  assert.ok(times[0] !== undefined && times[0] < 5);
  assert.ok(times.slice(1).every((time) => Math.abs(time - 600) < 5));
  assert.match(warned.join(), /(600|599) s slow/);

  for (const [off, correctClock] of [[600, false], [25 * 3600, true]] as const) {
    const refused = client([problem(401, "timestamp_out_of_range", { server_time: now + off })], { correctClock });
    await assert.rejects(refused.made.payments.get("r"), sluice.AuthenticationFailed);
  }
});

test("runs through all pages and never to another host", async () => {
  const { made, sent } = client([
    answer({ data: [PAYMENT], next: "https://evil.example/api/payments?cursor=a%3Ab" }),
    answer({ data: [{ ...PAYMENT, reference: "order-2" }], next: null }),
  ]);

  const references = [];
  for await (const payment of await made.payments.list({ limit: 1 })) references.push(payment.reference);

  assert.deepEqual(references, ["order-1", "order-2"]);
  assert.deepEqual(sent.map(({ url }) => url.href), [
    "https://pay.example/api/payments?limit=1", "https://pay.example/api/payments?cursor=a%3Ab",
  ]);
});

test("shows no secret in any text", async () => {
  const { made } = client([lost(), problem(400, "invalid_request"), problem(500, "internal_error")], { retries: 0 });
  const texts = [inspect(made, { depth: 9, showHidden: true }), JSON.stringify(made), String(made)];
  for (let turn = 0; turn < 3; turn += 1) {
    const request = { reference: "r", amount: 1, currency: "NGN", redirect_url: "https://shop.example", source: CARD };
    await made.payments.card(request as never).catch((error: unknown) => {
      texts.push(inspect(error, { depth: 9 }), JSON.stringify(error));
    });
  }
  assert.ok(texts.length > 6);
  for (const secret of ["canary", CARD.pan]) assert.ok(!texts.join().includes(secret));
});

test("refuses http to another host, and browsers", () => {
  for (const address of ["http://pay.example", "pay.example", "ftp://pay.example", "https://a:b@pay.example"]) {
    assert.throws(() => new sluice.Sluice(address, "pk", "sk"), /base URL/);
  }
  assert.ok(new sluice.Sluice("http://127.0.0.1:8000", "pk", "sk"));
  assert.ok(new sluice.Sluice("http://pay.example", "pk", "sk", { insecureHttp: true }));
  Object.assign(globalThis, { window: {}, document: {} });
  try {
    assert.throws(() => new sluice.Sluice("https://pay.example", "pk", "sk"), /browser/);
    assert.ok(new sluice.Sluice("https://pay.example", "pk", "sk", { allowBrowser: true }));
  } finally {
    Reflect.deleteProperty(globalThis, "window");
    Reflect.deleteProperty(globalThis, "document");
  }
});

test("sends the target that was signed over a socket", async () => {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on("data", (data) => {
      received.push(data.toString().split("\r\n")[0] ?? "");
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };

  await new sluice.Sluice(`http://127.0.0.1:${port}`, "pk", "sk").call("GET", "/api/payments/a:b?q=%3a~ ọ");
  server.close();

  assert.deepEqual(received, ["GET /api/payments/a:b?q=%3a~%20%E1%BB%8D HTTP/1.1"]);
});
