// Tell whether a webhook is genuine.
//
// WEBHOOK_HASH_KEY=whk_... node verify.js SIGNATURE < body
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");

// Compare the X-Service-Signature header with our own, in constant time. The body is a Buffer.
function isGenuine(hashKey, signature, body) {
  const expected = Buffer.from(crypto.createHmac("sha256", hashKey).update(body).digest("hex"));
  const given = Buffer.from(signature);
  // timingSafeEqual throws where the lengths differ.
  return given.length === expected.length && crypto.timingSafeEqual(given, expected);
}

module.exports = { isGenuine };

if (require.main === module) {
  const genuine = isGenuine(process.env.WEBHOOK_HASH_KEY, process.argv[2], fs.readFileSync(0));
  console.log(genuine ? "valid" : "invalid");
  process.exitCode = genuine ? 0 : 1;
}
