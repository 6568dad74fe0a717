/**
 * Webhooks: verify the request that your endpoint received, and read its event.
 *
 * The signature has no timestamp, so there is no tolerance to check. Your protection against an event that comes twice
 * is its `event_id` in a unique column.
 */

import { createHmac, timingSafeEqual } from "node:crypto";

import { SluiceError } from "./errors.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];

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
]);

/**
 * Verifies a webhook and returns its event.
 *
 * `body` is the raw body, before anything parses it; `signature` the header `X-Service-Signature`; `keys` the signing
 * key of your endpoint, or several: the old and the new one during a rotation, or your endpoint's and a listener's.
 *
 * @throws InvalidSignature the request does not come from the service, or a key is wrong
 * @throws MalformedEvent the signature is right, but the body is not an event
 * @throws TypeError the body is a string or an object
 */
export function parse(body: Uint8Array, signature: string | null | undefined, keys: string | string[]): Event {
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
 * @throws InvalidSignature it is missing, or was not made of this body with one of the keys
 */
export function verify(body: Uint8Array, signature: string | null | undefined, keys: string | string[]): void {
  if (!(body instanceof Uint8Array)) {
    throw new TypeError(`The body is ${kindOf(body)}: pass the raw bytes, before anything parses them.`);
  }
  const known = typeof keys === "string" ? [keys] : keys ?? []; // without types, a missing setting is undefined
  if (known.length === 0 || known.some((key) => !key)) {
    throw new TypeError("A key is empty: is the setting that holds it missing?");
  }
  if (!signature) throw new InvalidSignature("The header X-Service-Signature is missing or empty.");
  // Compare with all keys, so that the time does not tell which one is right.
  const matches = known.map((key) => isSignature(body, signature, key));
  if (!matches.includes(true)) {
    throw new InvalidSignature("The signature was not made of this body with this key.");
  }
}

/** Returns the signature of a raw body: the lower-case hex HMAC-SHA256, keyed with the text of the key. */
export function sign(body: Uint8Array, key: string): string {
  return createHmac("sha256", key).update(body).digest("hex");
}

function isSignature(body: Uint8Array, signature: string, key: string): boolean {
  const expected = Buffer.from(sign(body, key));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
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
