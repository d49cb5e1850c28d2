// Shows what the service pushes to this browser. It handles no request of any page: its scope holds none.
"use strict";

const KEY = "{key}"; // of the service; filled in when this file is served
const SCOPE = new URL("./", self.location).href;
const PROOF = new URL("proof", self.location).href;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("push", (event) => event.waitUntil(receive(event.data.json())));
self.addEventListener("notificationclick", (event) => event.waitUntil(respond(event.notification, event.action)));

// A program on the service's port may have planted a worker at this address: what is left of it is removed.
async function activate() {
  for (const name of await caches.keys()) await caches.delete(name);
  if (self.registration.scope !== SCOPE) await self.registration.unregister();
  else await isOurs();
}

// Whether this browser is subscribed for the service, and not for whoever planted a worker here before.
async function isOurs() {
  const subscription = await self.registration.pushManager.getSubscription();
  if (!subscription) return true;
  const key = String.fromCharCode(...new Uint8Array(subscription.options.applicationServerKey || []));
  if (btoa(key).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") === KEY) return true;
  await subscription.unsubscribe();
  return false;
}

async function receive(message) {
  if (self.registration.scope !== SCOPE || !(await isOurs())) return;
  const tag = message.ask;
  if (message.over === undefined) {
    const actions = message.deny ? [{ action: "deny", title: message.deny }] : [];
    await show(message.text, tag, { actions, data: { ask: message.ask, revision: message.revision } });
    return;
  }
  const wasShown = (await self.registration.getNotifications({ tag })).length > 0;
  // Browsers insist that each push shows something.
  await show(message.over, tag, { silent: true, data: { ask: message.ask } });
  if (wasShown && message.over) return;
  for (const notification of await self.registration.getNotifications({ tag })) notification.close();
}

const show = (body, tag, more) =>
  self.registration.showNotification("Answerback", { body, tag, icon: new URL("icon-192.png", self.location).href, ...more });

async function respond(notification, action) {
  const { ask, revision } = notification.data;
  const saved = await recall();
  if (!saved || !(await isServiceThere(saved.proof))) return; // it stays on the screen
  notification.close();
  const page = `${saved.home}/asks/${encodeURIComponent(ask)}`;
  if (action === "deny") {
    const response = await fetch(page, { method: "POST", body: new URLSearchParams({ revision }) });
    if (response.ok) return;
  }
  await self.clients.openWindow(page); // also to see why it could not be denied
}

// The address of the person's inbox, which page.js has saved. It is nobody else's: not even a cookie's.
function recall() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("answerback", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("push");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const reading = opening.result.transaction("push").objectStore("push").get("inbox");
      reading.onerror = () => reject(reading.error);
      reading.onsuccess = () => {
        opening.result.close();
        const saved = reading.result;
        resolve(saved && new URL(saved.home, self.location).origin === self.location.origin ? saved : null);
      };
    };
  });
}

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) || [], (digits) => parseInt(digits, 16));

// Another program can take the service's port while the service is down: it is told no address (see page.js).
async function isServiceThere(pair) {
  try {
    const [id, secret] = pair.split(".");
    const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const headers = { "Answerback-Challenge": `${id}.${nonce}` };
    const response = await fetch(PROOF, { cache: "no-store", headers, signal: AbortSignal.timeout(10000) });
    const signed = new Uint8Array([...new TextEncoder().encode(nonce), ...new Uint8Array(await response.arrayBuffer())]);
    const key = await crypto.subtle.importKey("raw", bytesOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    return await crypto.subtle.verify("HMAC", key, bytesOf(response.headers.get("Answerback-Proof") || ""), signed);
  } catch {
    return false;
  }
}
