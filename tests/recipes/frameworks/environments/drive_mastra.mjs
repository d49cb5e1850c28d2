// Runs the recipe for Mastra as a process of its user. Called as: drive_mastra.mjs DATABASE RUN [VERSION], without a
// version to go on with what an earlier process has begun. Prints the result as JSON.
import process from "node:process";
import { mastraOf, run } from "./mastra_suspend.js";

const [database, runId, version] = process.argv.slice(2);
console.log(JSON.stringify(await run(mastraOf(database), runId, version)));
