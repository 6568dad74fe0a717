/** Signatures of API requests. Pure functions, so that any HTTP client can use them. */

import { createHash, createHmac, randomBytes } from "node:crypto";

export interface SignedParts {
  timestamp: string;
  nonce: string;
  method: string;
  /** Path, and `?query` if there is one, exactly as they are sent. */
  target: string;
  body: Uint8Array | string;
}

/** Returns the text that is signed: five parts joined by line feeds. */
export function stringToSign({ timestamp, nonce, method, target, body }: SignedParts): string {
  const hash = createHash("sha256").update(body).digest("hex");
  return [timestamp, nonce, method.toUpperCase(), target, hash].join("\n");
}

/** Returns the lower-case hex HMAC-SHA256 of the text, keyed with the text of the secret key. */
export function sign(secretKey: string, text: string): string {
  return createHmac("sha256", secretKey).update(text).digest("hex");
}

export interface SigningOptions {
  apiKey: string;
  secretKey: string;
  method: string;
  target: string;
  body?: Uint8Array | string;
  /** Unix seconds; by default now. */
  timestamp?: number;
  /** 16 to 128 characters of `A-Z a-z 0-9 - _`; by default random. */
  nonce?: string;
}

/** Returns the four headers of a signed request, valid for five minutes and one use. */
export function headers(options: SigningOptions): Record<string, string> {
  const timestamp = String(options.timestamp ?? Math.floor(Date.now() / 1000));
  const nonce = options.nonce ?? randomBytes(18).toString("base64url");
  const { method, target, body = "" } = options;
  return {
    "X-Api-Key": options.apiKey,
    "X-Timestamp": timestamp,
    "X-Nonce": nonce,
    "X-Signature": sign(options.secretKey, stringToSign({ timestamp, nonce, method, target, body })),
  };
}
