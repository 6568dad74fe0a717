// Receive webhooks on this machine: check the signature, drop repetitions, answer, then act.
//
// WEBHOOK_HASH_KEY=whk_... node receiver.js 9000
"use strict";

const http = require("node:http");
const { isGenuine } = require("./verify.js");

const hashKey = process.env.WEBHOOK_HASH_KEY;
const seen = new Set(); // in a real service: a database column that is unique

async function receive(request, response) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces);
  if (!isGenuine(hashKey, request.headers["x-service-signature"] ?? "", body)) {
    response.writeHead(400).end();
    console.log("refused: wrong signature");
    return;
  }
  const event = JSON.parse(body);
  const isNew = !seen.has(event.event_id);
  seen.add(event.event_id);
  response.writeHead(204).end();
  if (isNew) {
    const { reference = "", status = "", response_summary = "" } = event.data;
    console.log(event.event, reference, status, response_summary);
  }
}

const port = Number(process.argv[2]);
const server = http.createServer((request, response) => {
  receive(request, response).catch(() => response.destroy()); // the sender hung up
});
server.listen(port, "127.0.0.1", () => console.log(`Listening on http://127.0.0.1:${port}`));
