// Runs the recipe for plain fetch: an agent uploads the picture in a file and asks about it. Prints the ask as JSON.
import { readFile } from "node:fs/promises";
import process from "node:process";
import { submit, upload, wait } from "./answerback.js";

const picture = await upload("plot & more.png", await readFile(process.argv[2]), "A plot");
const question = { question: "Better?", answer_type: "boolean", context: "![Plot](<file:plot & more.png>)" };
const asked = await submit("ask_user", question, "files-1", { files: [picture] });
console.log(JSON.stringify(await wait(asked.id)));
