// Print the headers that sign a request.
//
// SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... node sign.js METHOD TARGET < body
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");

// Return the four headers. The target is path and query, exactly as they will be sent; the body is a Buffer.
function signedHeaders(method, target, body, { apiKey, secretKey, timestamp, nonce }) {
  const bodyHash = crypto.createHash("sha256").update(body).digest("hex");
  const text = [timestamp, nonce, method.toUpperCase(), target, bodyHash].join("\n");
  return {
    "X-Api-Key": apiKey,
    "X-Timestamp": timestamp,
    "X-Nonce": nonce,
    "X-Signature": crypto.createHmac("sha256", secretKey).update(text).digest("hex"),
  };
}

module.exports = { signedHeaders };

if (require.main === module) {
  const [method, target] = process.argv.slice(2);
  const headers = signedHeaders(method, target, fs.readFileSync(0), {
    apiKey: process.env.SLUICE_API_KEY,
    secretKey: process.env.SLUICE_SECRET_KEY,
    timestamp: process.env.SLUICE_TIMESTAMP || String(Math.floor(Date.now() / 1000)),
    nonce: process.env.SLUICE_NONCE || crypto.randomUUID(),
  });
  for (const [name, value] of Object.entries(headers)) {
    console.log(`${name}: ${value}`);
  }
}
