// Receives webhooks under Node.js, with the library of Standard Webhooks: npm install standardwebhooks
import { createServer } from "node:http";
import process from "node:process";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET); // the agent's callback_secret: whsec_…
const done = new Set(); // in a database, if a repeat after a restart would do harm

async function receive(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const raw = Buffer.concat(chunks).toString(); // the signature is over these bytes: parse nothing first
  let event;
  try {
    event = webhook.verify(raw, request.headers);
  } catch (error) {
    response.writeHead(401).end(error.message);
    return;
  }
  const id = request.headers["webhook-id"]; // the same on every try
  if (!done.has(id)) {
    await ended(event.data); // the ask, as GET /v1/asks/{id} gives it
    done.add(id);
  }
  response.writeHead(204).end();
}

async function ended(ask) {
  console.log(JSON.stringify({ id: ask.id, status: ask.status, result: ask.tool_result }));
}

const server = createServer((request, response) => {
  receive(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end(); // Answerback tries again
  });
});
server.listen(Number(process.env.PORT ?? 8500), "127.0.0.1", () => {
  console.error(`listening on http://127.0.0.1:${server.address().port}`);
});
