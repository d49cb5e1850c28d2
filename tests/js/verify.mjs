// Verifies a webhook with the Standard Webhooks library: reads {secret, headers, body} from standard input, prints
// what the library made of it.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { secret, headers, body } = JSON.parse(readFileSync(0, "utf8"));
try {
  const event = new Webhook(secret).verify(body, headers);
  console.log(JSON.stringify({ verified: true, type: event.type, id: event.data.id }));
} catch (error) {
  console.log(JSON.stringify({ verified: false, error: error.constructor.name }));
}
