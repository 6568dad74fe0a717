// Runs the signing script of a collection for each vector, with stand-ins for what Postman and Bruno give to scripts.
// Prints what was signed and what would be sent, as JSON. Usage: node sign_vectors.cjs postman|bruno SCRIPT VECTORS

const { readFileSync } = require("node:fs");
const { runInNewContext } = require("node:vm");
const CryptoJS = require("crypto-js");

const [program, script, vectors] = process.argv.slice(2);
const { api_key, secret_key, requests } = JSON.parse(readFileSync(vectors, "utf8"));

const results = requests.map((vector) => {
  const sent = { url: `{{base_url}}${vector.target}`, body: Buffer.from(vector.body_base64, "base64").toString(), headers: {} };
  const variables = { base_url: "https://sluice.example:8443", api_key, secret_key, $guid: vector.nonce };
  const resolve = (text) => text.replace(/\{\{([^}]+)\}\}/g, (whole, name) => variables[name] ?? whole);
  const setVariable = (name, value) => void (variables[name] = value);
  const setHeader = (name, value) => void (sent.headers[name] = value);
  let signed = "";
  const hashes = { ...CryptoJS, HmacSHA256: (text, key) => ((signed = text), CryptoJS.HmacSHA256(text, key)) };
  const programs = {
    postman: {
      pm: {
        variables: { replaceIn: resolve, set: setVariable },
        request: {
          method: vector.method,
          url: { toString: () => sent.url, update: (url) => void (sent.url = url) },
          body: { mode: "raw", raw: sent.body, update: ({ raw }) => void (sent.body = raw) },
          headers: { upsert: ({ key, value }) => setHeader(key, value) },
        },
      },
    },
    bruno: {
      bru: { interpolate: resolve, setVar: setVariable },
      req: {
        getMethod: () => vector.method,
        getUrl: () => sent.url,
        setUrl: (url) => void (sent.url = url),
        getBody: () => sent.body || undefined,
        setBody: (body) => void (sent.body = body),
        setHeader,
      },
    },
  };
  const now = () => Number(vector.timestamp) * 1000 + 999;
  runInNewContext(readFileSync(script, "utf8"), { ...programs[program], require: () => hashes, Date: { now } });
  return { name: vector.name, signed, ...sent };
});
console.log(JSON.stringify(results));
