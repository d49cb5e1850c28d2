// Asks as tasks, with the official client of the tasks extension.
//
// Argument: URL. Prints one JSON line an event; whoever started this reads them, answers as a person would, and kills and
// restarts the service once the task was created.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

const url = process.argv[2];
const say = (event, more = {}) => console.log(JSON.stringify({ event, ...more }));
const GO = { question: "Deploy?", answer_type: "boolean" };
const INFO = { name: "answerback-tests", version: "1.0.0" };

const client = new Client(INFO, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const protocolVersion = client.getNegotiatedProtocolVersion();

// The SDK's client knows no results of tasks: the extension has its requests sent by the host.
let last = 0;
const rawDispatch = async (request, { signal, context } = {}) => {
  const id = ++last;
  const response = await fetch(url, {
    method: "POST",
    signal,
    headers: {
      Accept: "application/json, text/event-stream",
      "Content-Type": "application/json",
      "MCP-Protocol-Version": protocolVersion,
      "Mcp-Method": request.method,
      ...(request.params.name && { "Mcp-Name": request.params.name }),
      ...context?.headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, ...request }),
  });
  const text = await response.text();
  const lines = text.split("\n").filter((line) => line.startsWith("data:"));
  const messages = lines.length ? lines.map((line) => line.slice(5)) : [text];
  const { result, error } = messages.map((each) => JSON.parse(each)).find((each) => each.id === id);
  return error ? { kind: "error", error } : { kind: "result", result };
};

const session = createTaskSessionFromClient(client, {
  endpointId: url,
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo: INFO, clientCapabilities: {} },
});
say("connected", { protocol: protocolVersion, capabilities: session.capabilities });

// The id is all that is kept, as if this process had been killed too.
const execution = await session.callTool("ask_user", GO);
const { taskId } = execution.handle;
await execution.detach();
say("created", { kind: execution.kind, task_id: taskId });

for (;;) {
  try {
    const { status, result, task } = await session.task(taskId).result();
    say("settled", { status, result, task: task?.raw });
    break;
  } catch (error) {
    // The service is away, or was killed in the middle of its answer: then fetch says "terminated".
    if (!/fetch failed|terminated/.test(`${error} ${error.cause}`)) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const other = session.task((await session.callTool("ask_user", GO)).handle.taskId);
await other.update({});
say("updated", { status: (await other.snapshot()).status });
await other.cancel();
say("cancelled", { status: (await other.snapshot()).status });

const refused = await session.callTool("ask_user", { questions: [] });
const { outcome } = await refused.settle();
say("refused", { kind: refused.kind, is_error: outcome.result.isError });
try {
  await session.task("ask_0").snapshot();
} catch (error) {
  say("unknown", { code: error.code });
}
await session.close();
await client.close();
say("done");
