// Runs the recipe for plain fetch: an agent submits and waits, a front end acts. Prints what came of it as JSON.
import { RefusedError, act, submit, wait } from "./answerback.js";

const call = { tool_name: "Bash", tool_input: { command: "ls" } };
const asked = await submit("PermissionRequest", call, "fetch-1");
const again = await submit("PermissionRequest", call, "fetch-1");
const click = { action: "answer", value: "allow" };
const [ended, acted] = await Promise.all([
  wait(asked.id),
  act(asked, click, { user_id: "U7" }, "click-1"),
]);
const repeated = await act(asked, click, { user_id: "U7" }, "click-1");
let refused;
try {
  await submit("ask_user", { questions: [] }, "fetch-2");
} catch (error) {
  if (!(error instanceof RefusedError)) throw error;
  refused = error.problem.tool_result.content;
}
console.log(JSON.stringify({ asked, again, ended, acted, repeated, refused }));
