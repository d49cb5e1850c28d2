// Check a receipt without Answerback: node verify_receipt.ts receipt.json keys.json (before Node.js 22.18: npx tsx …)
import { createHash, createPublicKey, verify, type JsonWebKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";

type Signed = { signature: string; kid: string; [name: string]: unknown };
type Keys = Map<string, KeyObject>;
export type Body = {
  receipt: Signed;
  link: (Signed & { n: number; digest: string; previous: string | null }) | null;
  disclosed: Record<string, [salt: string, value: unknown]>;
};

/** What is wrong with a receipt; nothing if it is whole. */
export function faults(body: Body, jwks: { keys: JsonWebKey[] }): string[] {
  const keys: Keys = new Map(
    jwks.keys.map((key) => [String(key["kid"]), createPublicKey({ key, format: "jwk" })]),
  );
  const { receipt, link, disclosed } = body;
  const found: string[] = [];
  if (!isSigned(keys, receipt, receipt["payload"])) found.push("the receipt was changed, or signed with another key");
  const signed = strings(receipt["payload"]);
  for (const [name, beside] of Object.entries(disclosed)) {
    if (name !== digest(beside) || !signed.includes(name))
      found.push(`the text for ${name} is not the one that was signed`);
  }
  if (link !== null) {
    if (link.digest !== digest(receipt)) found.push("the link is another receipt's");
    const content = { n: link.n, digest: link.digest, previous: link.previous };
    if (!isSigned(keys, link, content)) found.push("the link was changed, or signed with another key");
  }
  return found;
}

/** The strings that are values in JSON: an agent may choose names of members, such as ids of questions. */
function strings(content: unknown): string[] {
  if (typeof content === "string") return [content];
  return content !== null && typeof content === "object" ? Object.values(content).flatMap(strings) : [];
}

/** Whether the key that is named has signed the content, in the form of RFC 8785. */
function isSigned(keys: Keys, signed: Signed, content: unknown): boolean {
  const key = keys.get(signed.kid);
  const signature = Buffer.from(signed.signature, "base64url");
  return key !== undefined && verify(null, Buffer.from(canonical(content)), key, signature);
}

/** The digest of the RFC 8785 form. */
function digest(content: unknown): string {
  return `sha256:${createHash("sha256").update(canonical(content)).digest("hex")}`;
}

/** JSON in the form of RFC 8785, which JavaScript's own numbers and strings have already. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`;
}

/** Read JSON in which no member occurs twice: of two with one name, another reader may take the other. */
function read(file: string) {
  const text = readFileSync(file, "utf-8");
  const value = JSON.parse(text);
  const names = (json: string) => [...json.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)].filter(([, colon]) => colon).length;
  if (names(text) !== names(JSON.stringify(value))) throw new Error(`A member occurs twice in ${file}`);
  return value;
}

const [body, jwks] = process.argv.slice(2, 4).map(read);
const wrong = faults(body, jwks);
console.log(wrong.join("\n") || "The receipt is whole.");
process.exitCode = wrong.length ? 1 : 0;
