import assert from "node:assert/strict";
import { createServer } from "node:net";
import { inspect } from "node:util";
import { test } from "node:test";

import * as sluice from "../src/index.js";
import { BY_CODE } from "../src/errors.js";

const SECRET = "sk_canary_4084084084084081";
const PAYMENT = { reference: "order-1", status: "success", amount: 500 };
const CARD = { type: "card", pan: "4084084084084081", name: "Ada Obi", expiry_month: "12", expiry_year: "2035", cvv: "9137" };

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

test("refuses fractions and booleans for amounts before anything is sent", async () => {
  const { made, sent } = client([]);
  const payment = { reference: "order-1", currency: "NGN", customer: { name: "Ada" } };

  for (const amount of [10.5, NaN, Infinity, 2 ** 53, true]) {
    const request = { ...payment, amount } as unknown as Parameters<typeof made.payments.create>[0];
    await assert.rejects(made.payments.create(request), /^TypeError: amount must be a whole number/);
  }
  await assert.rejects(made.call("POST", "/api/payments", undefined, { items: [{ amount: 0.1 }] }), TypeError);
  await assert.rejects(made.payments.capture("order-1", 1.5), TypeError);

  assert.equal(sent.length, 0);
});

test("sends fractions of an overlap", async () => {
  const { made, sent } = client([answer({ id: "e-1", hash_key: "whk_1" })]);

  await made.webhookEndpoints.rotate("e-1", { overlap_hours: 0.5 });

  assert.equal(sent[0]?.init.body, '{"overlap_hours":0.5}');
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
    error instanceof sluice.OutcomeUnknown && error.reference === "p-1" && error.message.includes('client.payments.get("p-1")'));
});

test("says which call asks for the outcome", async () => {
  const calls: [(made: sluice.Sluice) => Promise<unknown>, string][] = [
    [(made) => made.payments.capture("o:1"), 'payments.get("o:1")'],
    [(made) => made.payments.void("o-1"), 'payments.get("o-1")'],
    [(made) => made.refunds.create("o-1", { reference: "f-1" }), 'refunds.get("f-1")'],
    [(made) => made.virtualAccounts.deactivate("a-1"), 'virtualAccounts.get("a-1")'],
    [(made) => made.paymentLinks.update("l-1", { title: "x" }), 'paymentLinks.get("l-1")'],
    [(made) => made.events.resend("e-1"), 'events.get("e-1")'],
    [(made) => made.unappliedTransfers.credit("t-1", { reason: "x" }), "requests.list()"],
    [(made) => made.virtualAccounts.simulateTransfer({ account_number: "0123456789", amount: 1 }), "requests.list()"],
    [(made) => made.call("POST", "/api/new"), "requests.list()"],
  ];
  for (const [call, lookup] of calls) {
    const { made } = client([lost()], { retries: 0 });
    await assert.rejects(call(made), (error: Error) => error.message.includes(`may have arrived: client.${lookup}`));
  }
  const { made } = client([lost()], { retries: 0 });
  await assert.rejects(made.payments.get("r"), (error: Error) => !error.message.includes("may have arrived"));
});

test("raises for answers that are not of the service", async () => {
  for (const body of ["", "<html>", "[]", "1"]) {
    const { made } = client([new Response(body)], { retries: 0 });
    await assert.rejects(made.payments.create({ reference: "p-1" } as never), (error) =>
      error instanceof sluice.OutcomeUnknown && error.reference === "p-1" && /address of the service/.test(error.message));
  }
});

test("compares what was signed and marks the first line that differs", async () => {
  const theirs = "1767225602\nnonce\nGET\n/api/payments/a%3Ab\ne3b0";
  const { made } = client([problem(401, "invalid_signature", { string_to_sign: theirs })]);

  await assert.rejects(made.payments.get("a:b"), (error) => {
    assert.ok(error instanceof sluice.AuthenticationFailed);
    for (const line of [...theirs.split("\n"), ...error.signed.split("\n")]) assert.ok(error.message.includes(line));
    const marked = error.message.split("\n").filter((line) => line.startsWith(">"));
    assert.deepEqual(marked.map((line) => line.split(/\s+/)[1]), ["timestamp"]);
    return true;
  });
});

test("names the cause that the service found", async () => {
  const causes: [number, string, object, string][] = [
    [409, "duplicate_reference", { differs: ["amount", "source"] }, "Fields that differ: amount, source."],
    [409, "invalid_state", { differs: ["amount"] }, "Fields that differ: amount."],
    [401, "invalid_signature", { mistake: { code: "x", message: "Sign this." } }, "Sign this."],
  ];
  for (const [status, code, members, line] of causes) {
    const { made } = client([problem(status, code, members)]);
    await assert.rejects(made.payments.get("r"), (error: Error) => error.message.split("\n").includes(line));
  }
});

test("ends after a minute, whatever is left", async (context) => {
  let waited = 0;
  context.mock.method(performance, "now", () => waited);
  context.mock.method(globalThis, "setTimeout", (resolve: () => void, wait: number) => { waited += wait; resolve(); });
  const { made, sent } = client(Array.from({ length: 4 }, () => problem(429, "rate_limited", {}, { "Retry-After": "25" })), { retries: 9 });

  await assert.rejects(made.payments.get("r"), sluice.RateLimited);
  assert.deepEqual([waited, sent.length], [50_000, 3]);
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
    await assert.rejects(refused.made.payments.get("r"), (error) =>
      error instanceof sluice.AuthenticationFailed && new RegExp(`clock of this machine is (${off}|${off - 1}|${off + 1}) s slow`).test(error.message));
  }
});

test("runs through all pages and never to another host", async () => {
  const { made, sent } = client([
    answer({ data: [PAYMENT], next: "https://evil.example/api/payments?cursor=a%3ab%2B" }),
    answer({ data: [{ ...PAYMENT, reference: "order-2" }], next: null }),
  ]);

  const references = [];
  for await (const payment of await made.payments.list({ limit: 1 })) references.push(payment.reference);

  assert.deepEqual(references, ["order-1", "order-2"]);
  assert.deepEqual(sent.map(({ url }) => url.href), [
    "https://pay.example/api/payments?limit=1", "https://pay.example/api/payments?cursor=a%3ab%2B",
  ]);
});

test("keeps to the service, whatever the path is", async () => {
  for (const next of ["x:@evil.example/api", "https://pay.example//evil.example/api", "//evil.example//other.example", "?a=b", "/\\evil.example"]) {
    const { made, sent } = client([answer({ data: [], next }), answer({ data: [], next: null })]);
    for await (const payment of await made.payments.list()) assert.ok(payment);
    assert.deepEqual(sent.map(({ url }) => url.origin), ["https://pay.example", "https://pay.example"]);
  }
  const { made, sent } = client([answer()]);
  await made.call("GET", "//evil.example/api/banks");
  assert.equal(sent[0]?.url.host, "pay.example");
  await assert.rejects(made.call("GET", "@evil.example/api/banks"), TypeError);
});

test("fetches the banks again only after a change", async () => {
  const banks = [{ code: "058", name: "GTBank" }];
  const { made, sent } = client([answer({ data: banks }, 200, { ETag: '"1"' }), new Response(null, { status: 304 })]);

  assert.deepEqual(await made.banks.list(), await made.banks.list());
  assert.deepEqual(sent.map(({ init }) => init.headers["If-None-Match"]), [undefined, '"1"']);
});

test("shows no secret in any text", async () => {
  const refusals = [...BY_CODE.keys()].map((code) => problem(400, code));
  const { made } = client([lost(), new Response("<html>"), ...refusals], { retries: 0 });
  const texts = [inspect(made, { depth: 9, showHidden: true }), JSON.stringify(made), String(made)];
  for (let turn = 0; turn < refusals.length + 2; turn += 1) {
    const request = { reference: "r", amount: 1, currency: "NGN", redirect_url: "https://shop.example", source: CARD };
    await made.payments.card(request as never).catch((error: unknown) => {
      texts.push(inspect(error, { depth: 9 }), JSON.stringify(error));
    });
  }
  assert.ok(texts.length > 6);
  for (const secret of ["canary", CARD.pan, CARD.cvv]) assert.ok(!texts.join().includes(secret));
});

test("refuses http to another host, and browsers", () => {
  for (const address of ["http://pay.example", "pay.example", "ftp://pay.example", "https://a:b@pay.example", "https://pay.example/sluice"]) {
    assert.throws(() => new sluice.Sluice(address, "pk", "sk"), /base URL/);
  }
  for (const [apiKey, secretKey] of [["", "sk"], ["pk", ""], ["pk", "sk\n"], ["p k", "sk"]] as const) {
    assert.throws(() => new sluice.Sluice("https://pay.example", apiKey, secretKey), /key is empty, or has/);
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

test("ends an attempt in whole at its timeout, also against a server that drips", { timeout: 10_000 }, async () => {
  const server = createServer((socket) => {
    const dripping = setInterval(() => socket.write("x"), 20).unref();
    socket.unref();
    socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"));
    socket.on("close", () => { clearInterval(dripping); });
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.unref().address() as { port: number };

  const made = new sluice.Sluice(`http://127.0.0.1:${port}`, "pk", "sk", { timeout: 200, retries: 0 });
  await assert.rejects(made.payments.get("r"), (error) => error instanceof sluice.OutcomeUnknown && /longer than 200 ms, the option timeout/.test(error.message));
  server.close();
});

test("says what the reference of another request made", async () => {
  const { made } = client([problem(409, "duplicate_reference", { existing: { id: "id-7", status: "failed" } })]);

  await assert.rejects(made.payments.create({ ...PAYMENT } as never), /The first request made id-7, failed\. Use a new reference/);
});

test("refuses a reference that can't be part of a path", async () => {
  const { made, sent } = client([]);

  for (const reference of ["", "a/b"]) {
    assert.throws(() => made.payments.get(reference), /^TypeError: "(a\/b)?" is no reference/);
  }
  assert.equal(sent.length, 0);
});

test("names the address that could not be reached", async () => {
  const { made } = client([lost("ECONNREFUSED")], { retries: 0 });

  await assert.rejects(made.payments.get("r"), /^NotSent: pay\.example could not be reached: ECONNREFUSED\.$/);
});

test("gives each attempt an AbortSignal of its own", async () => {
  const { made, sent } = client([lost(), answer()]);

  await made.payments.get("r");

  assert.equal(new Set(sent.map(({ init }) => init.signal)).size, 2);
});

test("sends over a socket what was signed", async () => {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket.on("data", (data) => {
      received.push(data.toString("latin1"));
      socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const made = new sluice.Sluice(`http://127.0.0.1:${port}`, "pk", SECRET);
  const targets = [
    ["/api/payments/a:b?q=%3a~", "/api/payments/a:b?q=%3a~"], ["/api/x?q=%3A%3a&b=~", "/api/x?q=%3A%3a&b=~"],
    ["/api/x/a b?c=d e", "/api/x/a%20b?c=d%20e"], ["/api/ọ?q=é", "/api/%E1%BB%8D?q=%C3%A9"],
  ] as const;

  for (const [target] of targets) await made.call("GET", target);
  await made.call("POST", "/api/payments", undefined, { reference: "r", narration: "Ọ̀rẹ́ ~ %3a" });
  server.close();

  for (const [place, request] of received.entries()) {
    const [head = "", body = ""] = request.split("\r\n\r\n");
    const [line = "", ...rest] = head.split("\r\n");
    const [method = "", target = ""] = line.split(" ");
    const headers = new Map(rest.map((each) => each.split(": ") as [string, string]).map(([name, value]) => [name.toLowerCase(), value]));
    const text = sluice.signing.stringToSign({
      timestamp: headers.get("x-timestamp") ?? "", nonce: headers.get("x-nonce") ?? "", method, target, body: Buffer.from(body, "latin1"),
    });
    assert.equal(headers.get("x-signature"), sluice.signing.sign(SECRET, text));
    assert.equal(target, targets[place]?.[1] ?? "/api/payments");
  }
  assert.equal(received.length, targets.length + 1);
});
