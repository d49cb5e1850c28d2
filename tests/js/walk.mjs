// Walks asks with the official TypeScript client, over HTTP or standard input and output.
//
// Arguments: "http" URL, or "stdio" COMMAND ARGUMENT…. Prints one JSON line an event; whoever started this reads them,
// answers as a person would, and kills and restarts the service when told that somebody waits.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";

const [kind, first, ...rest] = process.argv.slice(2);
const say = (event, more = {}) => console.log(JSON.stringify({ event, ...more }));
const GO = { question: "Deploy?", answer_type: "boolean" };

const client = new Client({ name: "answerback-tests", version: "1.0.0" });
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(first))
    : new StdioClientTransport({ command: first, args: rest, env: process.env, stderr: "inherit" });
await client.connect(transport);

const call = (name, args, options = {}) =>
  client.callTool({ name, arguments: args }, undefined, { timeout: 30_000, ...options });

const { tools } = await client.listTools();
say("tools", { names: tools.map((tool) => tool.name) });

// The client's patience ends before the wait does: the ask goes on, and progress had named it.
let askId = null;
const onprogress = ({ message }) => {
  askId = message.match(/ask_\w+/)[0];
  say("progress", { message, ask_id: askId });
};
try {
  await call("ask_user", GO, { timeout: 700, onprogress });
  throw new Error("the call was to run out of time");
} catch (error) {
  if (error.code !== ErrorCode.RequestTimeout) throw error;
  say("timed_out", { ask_id: askId });
}

const pending = await call("wait_for_answer", { ask_id: askId, wait_seconds: 0.1 });
say("pending", { structured: pending.structuredContent });

// Somebody waits while the service is killed and started again. The library does not tell the call that was under way
// that its stream broke, so the call's own patience has to be short.
say("waiting", { ask_id: askId });
for (;;) {
  try {
    const answered = await call("wait_for_answer", { ask_id: askId }, { timeout: 4_000 });
    if (answered.isError) throw new Error(answered.content[0].text);
    if (answered.structuredContent.status === "pending") continue;
    say("answered", { structured: answered.structuredContent, text: answered.content[0].text });
    break;
  } catch (error) {
    say("lost", { error: String(error).slice(0, 200) });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const asked = await call("ask_user", { ...GO, wait_seconds: 0 });
const withdrawn = await call("withdraw_ask", { ask_id: asked.structuredContent.ask_id });
say("withdrawn", { structured: withdrawn.structuredContent });

const refused = await call("ask_user", { questions: [] });
say("refused", { is_error: refused.isError, text: refused.content[0].text });
await client.close();
say("done");
