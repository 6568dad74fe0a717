// Sign requests made with fetch, or with a client that takes a function in its place:
//   createClient<paths>({ baseUrl, fetch: signedFetch(apiKey, secretKey) })
//
// SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... node sign_fetch.js METHOD TARGET < body
// prints the headers of such a request.

import { createHash, createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

// Return the four headers. The URL is the one that fetch sends: it has been normalised.
export function signedHeaders(
  method: string,
  url: URL,
  body: Uint8Array,
  apiKey: string,
  secretKey: string,
  timestamp = String(Math.floor(Date.now() / 1000)),
  nonce: string = randomUUID(),
): Record<string, string> {
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const text = [timestamp, nonce, method.toUpperCase(), url.pathname + url.search, bodyHash].join("\n");
  return {
    "X-Api-Key": apiKey,
    "X-Timestamp": timestamp,
    "X-Nonce": nonce,
    "X-Signature": createHmac("sha256", secretKey).update(text).digest("hex"),
  };
}

// Return a function that is called like fetch, and signs each request. It follows no redirect.
export function signedFetch(apiKey: string, secretKey: string): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = new Uint8Array(await request.arrayBuffer());
    const signed = signedHeaders(request.method, new URL(request.url), body, apiKey, secretKey);
    return fetch(request.url, {
      method: request.method,
      headers: { ...Object.fromEntries(request.headers), ...signed },
      body: body.length > 0 ? body : null,
      redirect: "manual",
      signal: request.signal,
    });
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [method = "GET", target = "/"] = process.argv.slice(2);
  const { SLUICE_API_KEY = "", SLUICE_SECRET_KEY = "", SLUICE_TIMESTAMP, SLUICE_NONCE } = process.env;
  const url = new URL(`http://127.0.0.1:8000${target}`);
  const headers = signedHeaders(
    method, url, readFileSync(0), SLUICE_API_KEY, SLUICE_SECRET_KEY, SLUICE_TIMESTAMP, SLUICE_NONCE,
  );
  for (const [name, value] of Object.entries(headers)) {
    console.log(`${name}: ${value}`);
  }
}
