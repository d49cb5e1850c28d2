// Runs the recipe for the AI SDK with a scripted model: each argument is a version that it releases, several with
// commas between, or its last words. Prints the last words and the results of tools as JSON.
import process from "node:process";
import { MockLanguageModelV4 } from "ai/test";
import { run } from "./ai_sdk_approval.js";

const script = process.argv.slice(2);
const tokens = { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined };
const usage = { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: undefined } };

function says(what) {
  if (!/^[\d,]+$/.test(what)) return [{ type: "text", text: what }];
  return what.split(",").map((version) => {
    const input = JSON.stringify({ version });
    return { type: "tool-call", toolCallId: `ai-${version}`, toolName: "release", input };
  });
}

const model = new MockLanguageModelV4({
  doGenerate: async () => {
    const content = says(script.shift());
    const unified = content[0].type === "text" ? "stop" : "tool-calls";
    return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
  },
});
const text = await run(model, [{ role: "user", content: "Release it." }]);
const told = model.doGenerateCalls.at(-1).prompt.filter((message) => message.role === "tool");
const results = told.flatMap((message) => message.content);
console.log(JSON.stringify({ text, left: script.length, results }));
