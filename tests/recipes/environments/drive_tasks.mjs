// The official client of MCP's tasks extension, which calls ask_user. Called as: drive_tasks.mjs WHAT [REFERENCE], where
// WHAT is start, resume or cancel. Prints a JSON line for the task, and one for what came of it.
import process from "node:process";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const [what, reference] = process.argv.slice(2);
const url = `${process.env.ANSWERBACK_URL}/mcp`;
const protocolVersion = "2026-07-28";
const clientInfo = { name: "tasks", version: "1" };
const clientCapabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
let id = 1000;

// The SDK's own client takes no results of extensions: its host sends these requests.
async function rawDispatch(request, options) {
  const name = request.params?.taskId ?? request.params?.name;
  const headers = {
    ...options?.headers,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": protocolVersion,
    "Mcp-Method": request.method,
    ...(name ? { "Mcp-Name": name } : {}),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: id++, ...request });
  const text = await (await fetch(url, { method: "POST", headers, body })).text();
  return JSON.parse(text.startsWith("{") ? text : text.split("data: ").at(-1));
}

const client = new Client(clientInfo, {
  capabilities: clientCapabilities,
  versionNegotiation: { mode: { pin: protocolVersion } },
});
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const session = createTaskSessionFromClient(client, {
  endpointId: "answerback",
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
});
const question = { question: "Deploy?", answer_type: "boolean", to: "web" };
const execution = reference
  ? await session.resumeTask(JSON.parse(reference))
  : await session.callTool("ask_user", question);
const { taskId } = execution.handle;
const generation = "v2";
const found = { endpointId: "answerback", generation, taskId, originalOperation: "tools/call" };
console.log(JSON.stringify(found));
if (what === "cancel") await session.cancelTask(taskId);
const { outcome } = await execution.settle();
let result = null;
try {
  result = resultFromTaskOutcome(outcome);
} catch {
  // no result: it was cancelled
}
console.log(JSON.stringify({ outcome: outcome.kind ?? outcome.status, result }));
process.exit();
