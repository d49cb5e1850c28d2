// Holds decisions in the inbox back for some seconds, where the person has turned that on, so that they can be undone.
// What is held back is encrypted and ready: leaving the page sends it at once. The service still counts it only if the
// ask is as the person saw it.
"use strict";

const undo = (() => {
  const HELD = 5000; // ms: less than a ticket is valid for
  const AGAIN = 2000; // ms
  const ONE_PRESS = /^(answer:\d+|yes|no|allow_once|deny)$/;
  const held = []; // { asks, form, address, pair, sealed, onSent, texts, timer }, the latest last

  // Whether the person has turned it on, remembered by the browser if it may be.
  function isOn(on) {
    try {
      if (on !== undefined) localStorage.setItem("undo", on);
      return localStorage.getItem("undo") === "true";
    } catch {
      return false;
    }
  }

  const texts = () => document.querySelector(".undo-toggle")?.dataset;
  const isHeld = (ask) => held.some(({ asks }) => asks.includes(ask));
  const entryOf = (ask) => document.querySelector(`.entry[data-ask="${CSS.escape(ask)}"]`);

  // Whether a press decides at once and for good, about what stands in the list.
  function takes(form, button) {
    const decides = form.id === "batch" || form.dataset.last !== undefined;
    return channel.canProve && isOn() && Boolean(texts()) && decides && button?.name === "do" && ONE_PRESS.test(button.value);
  }

  // Holds back a form that decides about some asks. Returns whether it could: not if the service is not there.
  async function hold(pair, address, form, asks, onSent) {
    const sealed = await channel.seal(pair, address, form);
    if (sealed === null) return false;
    const each = { asks, form, address, pair, sealed, onSent, texts: { ...texts() } };
    each.timer = setTimeout(deliver, HELD, each);
    held.push(each);
    return true;
  }

  // Sends what is held back, again and again if the service is away: it counts once however often it comes.
  async function deliver(each) {
    if (!each.timer) return;
    clearTimeout(each.timer);
    each.timer = 0;
    mark();
    let answer = await channel.deliver(each.sealed, true);
    while (answer === null) {
      await new Promise((done) => setTimeout(done, AGAIN));
      answer = await channel.open(each.pair, each.address, each.form);
    }
    held.splice(held.indexOf(each), 1);
    mark();
    each.onSent(answer);
  }

  const flush = () => [...held].forEach(deliver);

  function takeBack(each) {
    if (!each || !each.timer) return;
    clearTimeout(each.timer);
    held.splice(held.indexOf(each), 1);
    mark();
  }

  const takeBackLast = () => takeBack(held.findLast(({ timer }) => timer));

  // Shows in the list what is held back.
  function mark() {
    for (const note of document.querySelectorAll(".sending")) note.remove();
    for (const entry of document.querySelectorAll(".entry.held")) entry.classList.remove("held");
    const open = document.querySelector(".entry.open")?.dataset.ask;
    const detail = document.querySelector(".detail");
    if (detail) detail.inert = isHeld(open);
    for (const each of held) for (const ask of each.asks) markRow(entryOf(ask), each);
    countWaiting();
  }

  function markRow(entry, each) {
    if (!entry) return;
    entry.classList.add("held");
    const box = entry.querySelector(".tick input");
    if (box) box.checked = false;
    const note = document.createElement("div");
    note.className = "sending";
    note.append(Object.assign(document.createElement("span"), { textContent: each.texts.sending }));
    if (each.timer) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: each.texts.undo });
      button.addEventListener("click", () => takeBack(each));
      note.append(button);
    }
    entry.append(note);
  }

  // What is held back no longer waits for the person.
  function countWaiting() {
    const waiting = document.querySelector(".waiting");
    if (!waiting || !/^\d+$/.test(waiting.dataset.count)) return;
    const open = document.querySelector(".entry.open");
    const left = waiting.dataset.count - document.querySelectorAll(".entry.held").length + (open?.matches(".held") ? 1 : 0);
    waiting.textContent = left > 0 ? waiting.dataset.text.replace("{count}", left) : "";
  }

  // The link of the row to open after the one that is open.
  function nextEntry() {
    const entries = Array.from(document.querySelectorAll(".entry"));
    const at = entries.findIndex((entry) => entry.matches(".open"));
    const free = (entry) => !isHeld(entry.dataset.ask) && entry.querySelector(":scope > a") !== null;
    return (entries.slice(at + 1).find(free) || entries.slice(0, at).find(free))?.querySelector("a");
  }

  function prepareToggle() {
    const toggle = document.querySelector(".undo-toggle");
    const key = document.querySelector(".undo-key");
    if (key) key.hidden = !isOn();
    if (!toggle || !channel.canProve) return;
    toggle.hidden = false;
    toggle.setAttribute("aria-pressed", isOn());
    toggle.onclick = () => {
      isOn(!isOn());
      prepareToggle();
    };
  }

  // After the page has changed: outside the inbox nothing is held back.
  function prepare() {
    prepareToggle();
    if (texts()) mark();
    else flush();
  }

  addEventListener("pagehide", flush);
  addEventListener("beforeunload", (event) => {
    if (held.some(({ timer }) => !timer)) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => document.hidden && flush());

  return { takes, hold, takeBackLast, nextEntry, prepare };
})();
