// Keeps what a person enters into a form until it is sent: it survives a reload, the way back, and another tab. It is
// kept in this browser alone, encrypted under a key that only the service's own pages have, so that another program on
// the service's port cannot read it.
"use strict";

const drafts = (() => {
  const KEPT = 7 * 24 * 3600 * 1000; // ms
  const PREFIX = "draft:";
  const IV = 12; // bytes
  const NOT_KEPT = "[type=hidden], [type=file], [type=search], [type=password], button";
  const ATTACHED = "file:"; // no control has this name
  let timer = 0;
  let forgotten = null; // the draft of a form that was sent, until something new is entered

  const secret = () => document.body.dataset.drafts;
  const form = () => document.querySelector("main form[data-draft]");
  const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (digits) => parseInt(digits, 16));
  const key = () => crypto.subtle.importKey("raw", bytesOf(secret()), "AES-GCM", false, ["encrypt", "decrypt"]);

  // Where a draft is kept: nothing in the name says what it is about.
  async function nameOf(draft) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${secret()} ${draft}`));
    return PREFIX + btoa(String.fromCharCode(...new Uint8Array(digest)));
  }

  const controls = (within) => Array.from(within.elements).filter((each) => each.name && !each.matches(NOT_KEPT));

  function read(within) {
    const entered = controls(within).map((each) => {
      if (each.matches("[type=radio], [type=checkbox]")) return [each.name, each.value, each.checked];
      return [each.name, null, each.value];
    });
    return [...entered, ...attachments.read(within).map((value) => [ATTACHED, value, true])];
  }

  function fill(within, entered) {
    formRows.match(within, entered.map(([name]) => name));
    attachments.fill(within, entered.filter(([name]) => name === ATTACHED).map(([, value]) => value));
    for (const [name, value, state] of entered) {
      const control = controls(within).find((each) => each.name === name && (value === null || each.value === value));
      if (!control) continue;
      if (value === null) control.value = state;
      else control.checked = state;
      if (value === null && state !== startOf(control) && !control.hidden) openAround(control);
    }
    planComments.show();
  }

  function startOf(control) {
    if (!control.matches("select")) return control.defaultValue;
    return (Array.from(control.options).find((each) => each.defaultSelected) || control.options[0])?.value;
  }

  // Opens what hides a control: what it is folded in, and what shows its sheet.
  function openAround(control) {
    const sheet = control.closest(".sheet");
    const opener = sheet && document.querySelector(`[aria-controls="${sheet.id}"]`);
    for (let at = (opener || control).closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  }

  async function save() {
    const current = form();
    if (!current || !channel.canProve || !secret()) return;
    const name = await nameOf(current.dataset.draft);
    const iv = crypto.getRandomValues(new Uint8Array(IV));
    const plain = new TextEncoder().encode(JSON.stringify(read(current)));
    const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await key(), plain));
    if (!current.isConnected || current.dataset.draft === forgotten) return;
    try {
      localStorage.setItem(name, JSON.stringify({ at: Date.now(), iv: [...iv], sealed: [...sealed] }));
    } catch {
      // the browser keeps nothing, or no more
    }
  }

  function saveSoon() {
    forgotten = null;
    clearTimeout(timer);
    timer = setTimeout(save, 200);
  }

  async function restore() {
    const current = form();
    if (!current || !channel.canProve || !secret() || current.dataset.filled !== undefined || current.dataset.restored) return;
    current.dataset.restored = "yes";
    if (current.dataset.draft === forgotten) return;
    try {
      forgetOld();
      const kept = JSON.parse(localStorage.getItem(await nameOf(current.dataset.draft)));
      if (!kept) return;
      const algorithm = { name: "AES-GCM", iv: Uint8Array.from(kept.iv) };
      const plain = await crypto.subtle.decrypt(algorithm, await key(), Uint8Array.from(kept.sealed));
      const untouched = JSON.stringify(read(current)) === current.dataset.start;
      if (current.isConnected && untouched) fill(current, JSON.parse(new TextDecoder().decode(plain)));
    } catch {
      // the browser keeps nothing, or it is not ours
    }
  }

  // A form that has got what was being entered is newer than its draft, which is saved a moment later.
  function supersede(current) {
    current.dataset.restored = "yes";
  }

  // Removes the draft of a form that was sent: what is shown next does not begin with it.
  async function forget(draft) {
    if (!draft || !channel.canProve || !secret()) return;
    clearTimeout(timer);
    forgotten = draft;
    try {
      localStorage.removeItem(await nameOf(draft));
    } catch {
      // nothing was kept
    }
  }

  function forgetOld() {
    for (const name of Object.keys(localStorage).filter((each) => each.startsWith(PREFIX))) {
      if (!isNew(localStorage.getItem(name))) localStorage.removeItem(name);
    }
  }

  // Not if another program on the service's port has left something else there.
  function isNew(kept) {
    try {
      return Date.now() - JSON.parse(kept).at <= KEPT;
    } catch {
      return false;
    }
  }

  // Remembers how a form begins, so that a draft replaces nothing that was entered meanwhile.
  function prepare() {
    const current = form();
    if (current && current.dataset.start === undefined) current.dataset.start = JSON.stringify(read(current));
    return restore();
  }

  for (const type of ["input", "change"]) {
    document.addEventListener(type, (event) => event.target instanceof Element && event.target.closest("form[data-draft]") && saveSoon());
  }

  return { prepare, saveSoon, forget, supersede };
})();
