// Shows what the service pushes to this browser. It handles no request of any page: its scope holds none.
"use strict";

{channel}

const KEY = "{key}"; // of the service; filled in when this file is served
const SCOPE = new URL("./", self.location).href;

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
  if (!saved || !(await channel.isThere(saved.proof))) return; // it stays on the screen
  const page = `asks/${encodeURIComponent(ask)}`;
  if (action === "deny") {
    const address = channel.addressOf(new URL(`${saved.home}/${page}`, self.location));
    const answer = await channel.open(saved.proof, address, new URLSearchParams({ revision }).toString());
    if (answer === null) return;
    notification.close();
    if (answer.status < 400) return;
  }
  notification.close();
  // Also to see why it could not be denied. The address names nobody: page.js knows whose inbox it is.
  await self.clients.openWindow(channel.urlOf(`/inbox/-/${page}#pushed`).href);
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
