// Cancels a call with the official TypeScript client and its AbortSignal, and asks for late answers.
//
// Arguments: URL, QUESTION. Prints one JSON line an event; whoever started this answers when told, and then writes a line.
import { once } from "node:events";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, question] = process.argv.slice(2);
const say = (event, more = {}) => console.log(JSON.stringify({ event, ...more }));
const proceed = () => once(process.stdin, "data");
const conversation = "c1";

const client = new Client({ name: "answerback-tests", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const giveUp = new AbortController();
const args = { question, wait_seconds: 40, conversation };
const calling = client.callTool({ name: "ask_user", arguments: args }, undefined, { signal: giveUp.signal });
say("asking");
await proceed();
giveUp.abort("no longer needed");
await calling.then(
  () => say("answered"),
  () => say("cancelled"),
);
await proceed();
for (const event of ["late", "again"]) {
  const late = await client.callTool({ name: "check_answers", arguments: { conversation } });
  say(event, { answers: late.structuredContent.answers });
}
await client.close();
