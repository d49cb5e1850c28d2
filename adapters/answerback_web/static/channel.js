// Requests to the service that nobody else can read or use (see sealed_requests.py). Another program can take the
// service's port while the service is down, so nothing that is secret is sent in any other way: no address of a
// person's page, and no form. The service's worker has a copy of this file.
"use strict";

const channel = (() => {
  const root = new URL("../../", self.document ? document.currentScript.src : self.location.href);
  const canProve = Boolean(self.crypto && crypto.subtle); // only on HTTPS and on this machine
  const HMAC = { name: "HMAC", hash: "SHA-256" };
  const IV = 12; // bytes

  const utf8 = (text) => new TextEncoder().encode(text);
  const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) || [], (digits) => parseInt(digits, 16));
  const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const hmacKey = (secret, use) => crypto.subtle.importKey("raw", bytesOf(secret), HMAC, false, [use]);

  function send(path, options) {
    return fetch(new URL(path, root), { cache: "no-store", signal: AbortSignal.timeout(10000), ...options });
  }

  // Returns a ticket for one request; null if it is not the service that answers. Throws if nothing answers.
  async function prove(pair) {
    const [id, secret] = pair.split(".");
    const nonce = hexOf(crypto.getRandomValues(new Uint8Array(16)));
    const response = await send("a/-/proof", { headers: { "Answerback-Challenge": `${id}.${nonce}` } });
    const body = new Uint8Array(await response.arrayBuffer());
    const proof = bytesOf(response.headers.get("Answerback-Proof") || "");
    const signed = new Uint8Array([...utf8(nonce), ...body]);
    const isProved = await crypto.subtle.verify("HMAC", await hmacKey(secret, "verify"), proof, signed);
    return isProved ? new TextDecoder().decode(body) : null;
  }

  // Whether the service is there. `pair` is the id and the secret of a page.
  async function isThere(pair) {
    try {
      if (!canProve) return (await send("a/-/proof")).ok;
      return (await prove(pair)) !== null;
    } catch {
      return false;
    }
  }

  // Encrypts a request to open an address, or to post a form to it: what `deliver` sends, within the ten seconds of its
  // ticket. Null if the service is not there.
  async function seal(pair, address, form = null) {
    try {
      const ticket = await prove(pair);
      if (ticket === null) return null;
      const [id, secret] = pair.split(".");
      const raw = await crypto.subtle.sign("HMAC", await hmacKey(secret, "sign"), utf8("seal"));
      const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
      const iv = crypto.getRandomValues(new Uint8Array(IV));
      const forTicket = { name: "AES-GCM", iv, additionalData: utf8(ticket) };
      const sealed = await crypto.subtle.encrypt(forTicket, key, utf8(JSON.stringify({ address, form })));
      const headers = { "Answerback-Ticket": `${id}.${ticket}` };
      if (self.document && document.hidden) headers["Answerback-Hidden"] = "1"; // nobody sees what is fetched
      return { headers, body: new Blob([iv, sealed]), key, ticket };
    } catch {
      return null; // nothing answers, or something else than the service
    }
  }

  // Sends a sealed request: { status, address, page }. Null if the service is not there. With `keepalive` the browser
  // sends it even if the page is closed in the meantime.
  async function deliver({ headers, body, key, ticket }, keepalive = false) {
    try {
      const response = await send("a/-/sealed", { method: "POST", headers, body, keepalive });
      const answer = new Uint8Array(await response.arrayBuffer());
      const ofAnswer = { name: "AES-GCM", iv: answer.slice(0, IV), additionalData: utf8(`answer.${ticket}`) };
      const plain = await crypto.subtle.decrypt(ofAnswer, key, answer.slice(IV));
      return JSON.parse(new TextDecoder().decode(plain));
    } catch {
      return null;
    }
  }

  // Opens an address, or posts a form to it.
  async function open(pair, address, form = null) {
    const sealed = await seal(pair, address, form);
    return sealed && deliver(sealed);
  }

  const addressOf = (url) => `/${url.href.slice(root.href.length).replace(/#.*/, "")}`;
  const urlOf = (address) => new URL(address.slice(1), root);
  const isOurs = (url) => url.href.startsWith(root.href);

  return { canProve, isThere, open, seal, deliver, addressOf, urlOf, isOurs };
})();
