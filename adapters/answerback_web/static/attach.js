// Attaches files to a form: chosen, dropped or pasted. Each is sent in chunks by `channel`, so that no other program on the
// service's port gets it, and the form then names it. Without this file, nothing can be attached.
"use strict";

const attachments = (() => {
  const TRIES = 4;
  const uploads = new Map(); // the rows of files that are being sent: promises that end when each has arrived or is refused

  const area = (within) => within && within.querySelector("#files");
  const inputs = (within) => Array.from(within.querySelectorAll("#files [name=file]"));
  const read = (within) => inputs(within).map((each) => each.value);
  const changed = (set) => set.dispatchEvent(new Event("input", { bubbles: true }));

  function prepare() {
    const set = area(document.querySelector("main .card form"));
    if (!set || !channel.canProve) return;
    if (set.dataset.start === undefined) set.dataset.start = JSON.stringify(read(set.closest("form")));
    set.hidden = false;
  }

  function hasChanged(within) {
    const set = area(within);
    return Boolean(set && set.dataset.start !== undefined && (set.querySelector("progress") || JSON.stringify(read(within)) !== set.dataset.start));
  }

  function row(set, name) {
    const item = document.createElement("li");
    const label = Object.assign(document.createElement("bdi"), { className: "text", textContent: name });
    const size = Object.assign(document.createElement("span"), { className: "note" });
    const remove = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: set.dataset.remove });
    remove.setAttribute("aria-label", `${set.dataset.remove}: ${name}`);
    item.append(label, " ", size, " ", remove);
    set.querySelector("ul").append(item);
    set.closest("details")?.setAttribute("open", "");
    return item;
  }

  // Names a file that has arrived.
  function name(item, value, text, size) {
    const input = Object.assign(document.createElement("input"), { type: "hidden", name: "file", value });
    item.prepend(input);
    item.querySelector("bdi").textContent = text;
    item.querySelector(".note").textContent = size;
    item.querySelector("progress")?.remove();
  }

  // Puts in files that a draft or another page had.
  function fill(within, values) {
    const set = area(within);
    if (!set) return;
    const known = new Set(read(within));
    for (const value of values.filter((each) => !known.has(each))) {
      const [, bytes, ...rest] = value.split(" ");
      name(row(set, rest.join(" ")), value, rest.join(" "), `${Math.ceil(bytes / 1000)} kB`);
    }
  }

  // Takes over what another form of the same question has, also what is still on its way.
  function move(from, to) {
    const [before, after] = [area(from), area(to)];
    if (before && after) after.querySelector("ul").replaceChildren(...before.querySelector("ul").children);
  }

  const base64 = async (blob) => {
    const url = await new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(blob);
    });
    return url.slice(url.indexOf(",") + 1).replaceAll("+", "-").replaceAll("/", "_");
  };

  // A phone's HEIC picture as JPEG, if this browser can read it.
  async function readable(file) {
    if (!/heic|heif/i.test(`${file.type} ${file.name}`)) return file;
    try {
      const bitmap = await createImageBitmap(file);
      const canvas = Object.assign(document.createElement("canvas"), { width: bitmap.width, height: bitmap.height });
      canvas.getContext("2d").drawImage(bitmap, 0, 0);
      const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.9));
      return new File([blob], file.name.replace(/\.hei[cf]$/i, ".jpg"), { type: "image/jpeg" });
    } catch {
      return file;
    }
  }

  // Returns what the service says about a part of a file. Throws if it cannot be reached, or answers with a page.
  async function post(action, fields) {
    for (let n = 1; ; n++) {
      const answer = await channel.open(document.body.dataset.proof, action, new URLSearchParams(fields).toString());
      if (answer && answer.status < 500) return JSON.parse(answer.page);
      if (n === TRIES) throw new Error("the service cannot be reached");
      await new Promise((done) => setTimeout(done, 1000 * n));
    }
  }

  // Sends a file, and returns what names it; or why it was refused. Throws if it could not be sent.
  async function send(file, item, form, action) {
    const { most, chunk, tooLarge, unreadable } = area(form).dataset;
    if (file.size > Number(most)) return { refused: tooLarge.replace("{name}", file.name).replace("{most}", Math.floor(most / 1048576)) };
    const count = Math.max(1, Math.ceil(file.size / chunk));
    const progress = Object.assign(item.querySelector("progress"), { max: count, value: 0 });
    let upload = "";
    for (let n = 0; n < count; n++) {
      if (!item.closest("#files")) return {}; // removed
      const data = await base64(file.slice(n * chunk, (n + 1) * chunk)).catch(() => null);
      if (data === null) return { refused: unreadable.replace("{name}", file.name) };
      const fields = { do: "attach", revision: form.elements.revision.value, upload, n, data };
      if (n === count - 1) fields.name = file.name;
      const answer = await post(action, fields);
      if (answer.refused || answer.value) return answer;
      upload = answer.upload;
      progress.value = n + 1;
    }
    throw new Error("the service did not name the file");
  }

  // Shows files in a form at once, and sends one after another.
  function attach(form, files, action) {
    const set = area(form);
    for (const old of set.querySelectorAll(".error")) old.remove();
    let previous = null;
    for (const file of files) {
      const item = row(set, file.name || "photo.png");
      const progress = document.createElement("progress");
      progress.setAttribute("aria-label", file.name);
      item.querySelector(".note").before(progress);
      previous = upload(previous, file, item, form, action);
      uploads.set(item, previous);
    }
  }

  // Sends a file after the previous one, and names it in the form that has its row by then.
  async function upload(previous, file, item, form, action) {
    await previous;
    const removed = new Promise((done) => item.querySelector("button").addEventListener("click", () => done({})));
    const sent = readable(file).then((each) => send(each, item, form, action));
    const refused = area(form).dataset.failed.replace("{name}", file.name);
    const answer = await Promise.race([sent.catch(() => ({ refused })), removed]);
    uploads.delete(item);
    const set = item.closest("#files");
    if (!set) return; // removed
    if (answer.value) name(item, answer.value, answer.name, answer.size);
    else if (answer.refused) refuse(item, answer.refused);
    changed(set);
  }

  function refuse(item, why) {
    const error = Object.assign(document.createElement("p"), { className: "error", textContent: why });
    error.setAttribute("role", "alert");
    const set = item.closest("#files");
    set.dataset.refused = Number(set.dataset.refused || 0) + 1;
    set.prepend(error);
    item.remove();
  }

  // Waits until a form has all its files, also those that are added meanwhile; false if one is refused, so that nothing
  // is sent without it.
  async function arrived(form) {
    const pending = () => Array.from(uploads).filter(([item]) => form.contains(item)).map(([, sent]) => sent);
    const refused = () => area(form)?.dataset.refused;
    const before = refused();
    while (pending().length) await Promise.all(pending());
    return refused() === before;
  }

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest("#files li button");
    if (!button) return;
    const set = button.closest("#files");
    button.closest("li").remove();
    set.querySelector("[type=file]").focus();
    changed(set);
  });

  // What is dropped anywhere on the page, or pasted, goes to the form that is open.
  function take(event, data) {
    const form = document.querySelector("main .card form");
    const set = area(form);
    const files = Array.from((data && data.files) || []);
    if (!set || set.hidden || !files.length) return;
    event.preventDefault();
    start(form, files);
  }

  let start = () => {};

  document.addEventListener("change", (event) => {
    if (!(event.target instanceof HTMLInputElement) || !event.target.matches("#files [type=file]")) return;
    const files = Array.from(event.target.files);
    event.target.value = "";
    start(event.target.form, files);
  });
  document.addEventListener("paste", (event) => take(event, event.clipboardData));
  document.addEventListener("drop", (event) => take(event, event.dataTransfer));
  document.addEventListener("dragover", (event) => {
    if (document.querySelector("main .card #files:not([hidden])") && event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });

  // `addressOf` tells where a form is posted to.
  function begin(addressOf) {
    start = (form, files) => attach(form, files, addressOf(form));
  }

  return { prepare, begin, read, fill, move, hasChanged, arrived };
})();
