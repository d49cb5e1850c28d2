// Mastra: a step suspends its workflow until people have answered. Needs answerback.ts beside it.
import process from "node:process";
import { Mastra } from "@mastra/core/mastra";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { LibSQLStore } from "@mastra/libsql";
import { z } from "zod";
import { submit, wait } from "./answerback.js";

const Window = z.object({ day: z.string(), hosts: z.number().int().min(1) });

const askWhen = createStep({
  id: "ask-when",
  inputSchema: z.object({ version: z.string() }),
  suspendSchema: z.object({ message: z.string() }),
  resumeSchema: Window,
  outputSchema: Window,
  execute: async ({ inputData, resumeData, suspend }) =>
    resumeData ?? suspend({ message: `When do we release version ${inputData.version}?` }),
});
const release = createWorkflow({
  id: "release",
  inputSchema: z.object({ version: z.string() }),
  outputSchema: Window,
})
  .then(askWhen)
  .commit();

/** The workflows; their suspended runs outlive the process. */
export function mastraOf(database: string) {
  const storage = new LibSQLStore({ id: "runs", url: `file:${database}` });
  return new Mastra({ workflows: { release }, storage });
}

/** Runs to the end; null if nobody answered, and the run is still suspended. After a crash, leave out the version. */
export async function run(mastra: ReturnType<typeof mastraOf>, runId: string, version?: string) {
  const workflow = mastra.getWorkflow("release");
  const going = await workflow.createRun({ runId });
  if (version !== undefined) await going.start({ inputData: { version } });
  for (;;) {
    const state = await workflow.getWorkflowRunById(runId);
    if (state?.status !== "suspended") return state?.result ?? null;
    const [step] = Object.keys(state.suspendedPaths ?? {});
    const [suspended] = [state.steps?.[step]].flat();
    const key = `${runId}:${step}:${suspended?.suspendedAt}`;
    const resumeData = await answer(key, suspended?.suspendPayload.message);
    if (resumeData === null) return null;
    await going.resume({ step, resumeData });
  }
}

/** A person's answer, which fits the step's schema; null if there is none. */
async function answer(key: string, message: string): Promise<z.infer<typeof Window> | null> {
  const { $schema, ...requestedSchema } = z.toJSONSchema(Window);
  const asked = await submit("elicitation/create", { message, requestedSchema }, key);
  const ask = await wait(asked.id);
  const isByPerson = ask.source === "human" || ask.source === "grant";
  const isAccepted = isByPerson && ask.tool_result?.structured.action === "accept";
  return isAccepted ? ask.tool_result?.structured.content : null;
}

if (process.argv[1] === import.meta.filename && process.argv[2]) {
  console.log(await run(mastraOf("runs.db"), `release-${process.argv[2]}`, process.argv[2]));
}
