// Signs the request: X-Signature is the hex HMAC-SHA256 of five lines, keyed with the secret key.
const CryptoJS = require("crypto-js");

const keyFrom = (name) => {
  const value = resolve(`{{${name}}}`);
  if (!value || value.includes("{{")) {
    throw new Error(`Set the variable ${name}: the request can't be signed without it.`);
  }
  return value;
};

// Percent-encodes what a request line can't hold, and leaves everything else as it is: "%3a" stays "%3a".
const encoded = (text) =>
  text.replace(/[^A-Za-z0-9\-._~:/?#[\]@!$&()*+,;=%]/gu, (character) =>
    character === "'" ? "%27" : encodeURIComponent(character),
  );

const sign = () => {
  setVariable("new_reference", `ref-${resolve("{{$guid}}")}`);
  // Variables are replaced first, and the result is set: the signed characters are the ones that are sent.
  const [, origin, path] = /^(\w+:\/\/[^/?#]*)?(.*)$/s.exec(resolve(getUrl()));
  const target = encoded(path).split("#")[0];
  if (!target.startsWith("/api/")) {
    return; // a page for payers: it needs no signature
  }
  const body = resolve(getBody());
  setUrl(`${origin}${target}`);
  setBody(body);
  const apiKey = keyFrom("api_key");
  const secretKey = keyFrom("secret_key");
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = resolve("{{$guid}}");
  const hash = CryptoJS.SHA256(body).toString();
  const stringToSign = [timestamp, nonce, getMethod(), target, hash].join("\n");
  setHeader("X-Api-Key", apiKey);
  setHeader("X-Timestamp", timestamp);
  setHeader("X-Nonce", nonce);
  setHeader("X-Signature", CryptoJS.HmacSHA256(stringToSign, secretKey).toString());
};

sign();
