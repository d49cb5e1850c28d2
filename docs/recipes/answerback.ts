// TypeScript with plain fetch and nothing to install: submit a tool call with files, wait for people, and act for a person.
import process from "node:process";

const url = process.env.ANSWERBACK_URL ?? "http://127.0.0.1:8420";

export type ToolResult = { content: string; structured: any; is_error: boolean };
export type Ask = {
  id: string;
  status: "open" | "answered" | "cancelled" | "turn_ended" | "expired" | "withdrawn" | "failed";
  revision: number;
  reply: string | null;
  end_turn: boolean;
  source: string | null; // "human" if a person gave all answers
  edited: { arguments: any } | null; // what a person made of the call
  tool_result: ToolResult | null; // null while it is open, and where the turn was ended
};

/** The service refused the call; if the tool call is wrong, `problem.tool_result` tells the model why. */
export class RefusedError extends Error {
  problem: { status: number; title: string; tool_result?: ToolResult };
  constructor(problem: RefusedError["problem"]) {
    super(problem.title);
    this.problem = problem;
  }
}

/** Submits a tool call. The same key again finds the same ask: your run's id with the model's id of the call is a good one. */
export function submit(name: string, args: object, key: string, more: object = {}): Promise<Ask> {
  const body = { name, arguments: args, to: "web", ...more };
  return call("POST", "/v1/asks", { "Idempotency-Key": key }, body);
}

/** Uploads a file: what it returns goes into `files` of `more` within an hour, and Markdown shows a picture as ![…](file:NAME). */
export async function upload(name: string, bytes: Uint8Array, alt?: string): Promise<{ id: string; alt?: string }> {
  const { id } = await call("POST", `/v1/files?name=${encodeURIComponent(name)}`, {}, bytes);
  return { id, alt };
}

/** Waits until the ask has ended; any process can, by its id. */
export async function wait(id: string): Promise<Ask> {
  let ask: Ask;
  do {
    ask = await call("GET", `/v1/asks/${id}`, { Prefer: "wait=50" });
  } while (ask.status === "open");
  return ask;
}

/** One call of the API, repeated for ten minutes if the service is away. */
async function call(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object | Uint8Array,
  token = process.env.ANSWERBACK_TOKEN,
): Promise<Ask> {
  const isFile = body instanceof Uint8Array;
  const request = new Request(url + path, {
    method,
    headers: { ...headers, "Content-Type": isFile ? "application/octet-stream" : "application/json" },
    body: isFile ? new Blob([body as BlobPart]) : body && JSON.stringify(body),
  });
  if (token) request.headers.set("Authorization", `Bearer ${token}`);
  for (const until = Date.now() + 600_000; ; ) {
    const response = await fetch(request.clone()).catch((error: Error) => error); // away, or restarting
    if (response instanceof Response && response.status < 500) {
      const found: any = await response.json();
      if (response.ok) return found;
      throw new RefusedError(found);
    }
    if (Date.now() > until) throw response instanceof Error ? response : new Error(await response.text());
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/**
 * Does what a person did at a front end of your own, such as approving a tool call. Its token has the role
 * `surface`. The revision says which prompt they saw, and the key that a repeat is the same click.
 */
export function act(ask: Ask, action: object, actor: { user_id: string }, key: string): Promise<Ask> {
  const body = { ...action, revision: ask.revision, actor };
  const token = process.env.ANSWERBACK_SURFACE_TOKEN;
  return call("POST", `/v1/asks/${ask.id}/actions`, { "Idempotency-Key": key }, body, token);
}

// As a program it asks one question, and prints the tool result: node answerback.ts ask
if (process.argv[2] === "ask") {
  const question = { question: "Deploy now?", answer_type: "boolean" };
  const asked = await submit("ask_user", question, `run-${Date.now()}:call-1`);
  console.log((await wait(asked.id)).tool_result?.content);
}
