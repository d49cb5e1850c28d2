// Vercel AI SDK: a tool call that needs approval goes to people. Needs answerback.ts beside it.
import process from "node:process";
import { generateText, tool } from "ai";
import type { LanguageModel, ModelMessage, ToolApprovalRequestOutput, ToolApprovalResponse } from "ai";
import { z } from "zod";
import { RefusedError, submit, wait } from "./answerback.js";

const release = tool({
  description: "Releases a version.",
  inputSchema: z.object({ version: z.string() }),
  execute: async ({ version }) => `Version ${version} is out.`,
});
const tools = { release };

/** Runs until the model has finished; null when someone ended the turn, and nothing ran. */
export async function run(model: LanguageModel, messages: ModelMessage[]): Promise<string | null> {
  for (;;) {
    const result = await generateText({
      model,
      tools,
      toolApproval: { release: "user-approval" },
      messages,
    });
    messages.push(...result.responseMessages);
    const decisions: ToolApprovalResponse[] = [];
    for (const part of result.content) {
      if (part.type !== "tool-approval-request" || part.isAutomatic) continue;
      const decision = await decide(part, messages);
      if (decision === null) return null;
      decisions.push(decision);
    }
    if (decisions.length > 0) messages.push({ role: "tool", content: decisions });
    else if (result.finishReason !== "tool-calls") return result.text;
  }
}

/** What people decide about one tool call; null when they end the turn. */
async function decide(
  request: ToolApprovalRequestOutput<typeof tools>,
  messages: ModelMessage[],
): Promise<ToolApprovalResponse | null> {
  const { approvalId, toolCall } = request;
  const deny = (reason: string): ToolApprovalResponse => {
    return { type: "tool-approval-response", approvalId, approved: false, reason };
  };
  try {
    // Each request has an id of its own; a model may use the id of a call again.
    const asked = await submit("tool-approval-request", request, approvalId, { takes_edited: true });
    const ask = await wait(asked.id);
    if (ask.tool_result === null) return null;
    if (ask.tool_result.is_error) return deny(ask.tool_result.content);
    if (ask.status === "answered" && ask.source !== "human" && ask.source !== "grant") return deny("No person decided.");
    if (ask.edited) changeCall(messages, toolCall.toolCallId, ask.edited.arguments);
    return ask.tool_result.structured;
  } catch (error) {
    if (error instanceof RefusedError) return deny(error.message);
    throw error;
  }
}

/** Changes the model's call. */
function changeCall(messages: ModelMessage[], id: string, input: unknown): void {
  for (const message of messages) {
    if (message.role !== "assistant" || typeof message.content === "string") continue;
    for (const part of message.content) {
      if (part.type === "tool-call" && part.toolCallId === id) part.input = input;
    }
  }
}

if (process.argv[1] === import.meta.filename && process.env.MODEL) {
  console.log(await run(process.env.MODEL, [{ role: "user", content: "Release version 7." }]));
}
