/**
 * Webhooks: verify the request that your endpoint received, and read its event.
 *
 * `X-Service-Signature` has no timestamp, so its age isn't checked; that of Standard Webhooks may be five minutes old.
 * Your protection against an event that comes twice is its `event_id` in a unique column.
 */

import { createHmac, timingSafeEqual } from "node:crypto";

import { SluiceError } from "./errors.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

const OURS = ["x-service-signature", "x-service-signature-previous"];
/** Seconds between `webhook-timestamp` and now, as in the reference library of Standard Webhooks. */
const TOLERANCE = 300;

/** The headers of a request: `request.headers` of Node, or those of `fetch`. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>> | { get(name: string): string | null };

/** The signature is missing, or was not made of this body with one of the keys. Answer 4xx. */
export class InvalidSignature extends SluiceError {}

/** The signature is right, but the body is not an event. */
export class MalformedEvent extends SluiceError {}

/** An event of a kind that this version knows; decide by `event`. */
export type KnownEvent = Schemas["WebhookEvent"];

/** A kind of event that this version does not know. Answer 2xx, or it is sent again. */
export interface UnknownEvent {
  event: "unknown";
  /** The kind's name. */
  name: string;
  event_id: string;
  created_at: string;
  data: Record<string, unknown>;
}

export type Event = KnownEvent | UnknownEvent;

const KINDS: ReadonlySet<string> = new Set<KnownEvent["event"]>([
  "payment.success", "payment.failed", "payment.mismatch", "payout.success", "payout.failed", "payout.reversed",
  "refund.success", "refund.failed", "transfer.unapplied", "settlement.released",
  "account.active", "account.failed", "payout_batch.completed",
  "dispute.opened", "dispute.updated", "dispute.due_soon", "dispute.closed",
  "balance.adjusted",
]);

/**
 * Verifies a webhook and returns its event.
 *
 * `body` is the raw body, before anything parses it. `signature` is all headers of the request, or only the value of
 * `X-Service-Signature`. Of all headers one right signature is enough: `X-Service-Signature`,
 * `X-Service-Signature-Previous` or `webhook-signature`. `keys` is the signing key of your endpoint, as `whk_…` or
 * `whsec_…`, or several: the old and the new one during a rotation, or your endpoint's and a listener's.
 *
 * @throws InvalidSignature the request does not come from the service, or a key is wrong
 * @throws MalformedEvent the signature is right, but the body is not an event
 * @throws TypeError the body is a string or an object
 */
export function parse(body: Uint8Array, signature: string | RequestHeaders | null | undefined, keys: string | string[]): Event {
  verify(body, signature, keys);
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (problem) {
    throw new MalformedEvent("The body is signed, but it is not JSON.", { cause: problem });
  }
  if (!isEvent(document)) throw new MalformedEvent("The body is signed, but it is not an event.");
  if (KINDS.has(document.event)) return document as unknown as KnownEvent;
  return { ...document, event: "unknown", name: document.event };
}

/**
 * Checks the signature of a raw body, in constant time.
 *
 * @throws InvalidSignature it is missing or too old, or was not made of this body with one of the keys
 */
export function verify(body: Uint8Array, signature: string | RequestHeaders | null | undefined, keys: string | string[]): void {
  if (!(body instanceof Uint8Array)) {
    throw new TypeError(`The body is ${kindOf(body)}: pass the raw bytes, before anything parses them.`);
  }
  const known = typeof keys === "string" ? [keys] : keys ?? []; // without types, a missing setting is undefined
  if (known.length === 0 || known.some((key) => !key)) {
    throw new TypeError("A key is empty: is the setting that holds it missing?");
  }
  const find = headerOf(signature);
  // Compare with all keys, so that the time does not tell which one is right.
  const matches = known.map((key) => isSigned(body, find, key));
  if (!matches.includes(true)) throw new InvalidSignature(problemOf(find));
}

/** Returns the signature of a raw body: the lower-case hex HMAC-SHA256, keyed with the text of the key. */
export function sign(body: Uint8Array, key: string): string {
  return createHmac("sha256", bytesOf(key)).update(body).digest("hex");
}

type Find = (name: string) => string;

/** Returns what finds a header by its name in lower case; "" if it is missing. */
function headerOf(signature: string | RequestHeaders | null | undefined): Find {
  if (!signature || typeof signature === "string") return (name) => (name === OURS[0] && signature) || "";
  const { get } = signature;
  if (typeof get === "function") return (name) => get.call(signature, name) ?? "";
  const lower = new Map(Object.entries(signature).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => String(lower.get(name) ?? "");
}

/** Returns whether a signature among the headers, of either scheme, is right. */
function isSigned(body: Uint8Array, find: Find, key: string): boolean {
  const [ours, standard] = [sign(body, key), standardSignature(body, find, key)];
  const matches = OURS.map((name) => isSame(ours, find(name)));
  if (isRecent(find)) matches.push(...find("webhook-signature").split(" ").map((given) => isSame(standard, given)));
  return matches.includes(true);
}

/** Returns what a signature of Standard Webhooks has to be with these headers. */
function standardSignature(body: Uint8Array, find: Find, key: string): string {
  const signed = `${find("webhook-id")}.${find("webhook-timestamp")}.`;
  return `v1,${createHmac("sha256", bytesOf(key)).update(signed).update(body).digest("base64")}`;
}

function isRecent(find: Find): boolean {
  const timestamp = find("webhook-timestamp");
  return /^\d{1,12}$/.test(timestamp) && Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE;
}

function isSame(one: string, other: string): boolean {
  const [expected, given] = [Buffer.from(one), Buffer.from(other)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Returns the bytes of a key's text, which `whsec_…` has in Base64. */
function bytesOf(key: string): Buffer {
  if (!key.startsWith("whsec_")) return Buffer.from(key);
  const text = key.slice("whsec_".length);
  const decoded = Buffer.from(text, "base64");
  if (text && decoded.toString("base64") === text) return decoded;
  throw new TypeError("A key begins with whsec_, but no Base64 follows: is it complete?");
}

function problemOf(find: Find): string {
  const standard = find("webhook-signature");
  if (!standard && !OURS.some(find)) return "The header X-Service-Signature is missing or empty.";
  if (standard && !isRecent(find)) {
    return "webhook-timestamp is more than five minutes from the clock of this machine, or is no number.";
  }
  return "The signature was not made of this body with this key.";
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

interface Envelope {
  event: string;
  event_id: string;
  created_at: string;
  data: Record<string, unknown>;
}

function isEvent(document: unknown): document is Envelope {
  if (typeof document !== "object" || document === null) return false;
  const { event, event_id, created_at, data } = document as Record<string, unknown>;
  const texts = [event, event_id, created_at];
  return texts.every((text) => typeof text === "string") && typeof data === "object" && data !== null;
}
