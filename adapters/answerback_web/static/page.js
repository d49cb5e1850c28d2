// What the page does beyond plain forms: it follows its ask without losing what is being entered,
// handles keyboard shortcuts, and prevents accidental answers. All controls also work without this file.
// It is loaded before the page's content, so it sees keys that are pressed while the content appears.
"use strict";

(() => {
  const SETTLING = 500; // ms
  const PAUSE = 2000; // ms
  let settling = true; // whether the controls have only just changed
  let timer = 0;
  let textControl = null; // in which the person is writing, which ends when they send it
  let pausing = 0; // the timer of the pause after which keys count again
  let byPointer = false; // whether the last click came from a pointer rather than a key
  let byArrow = false; // whether an arrow key is held down, which moves through the options
  let source = null;
  let address = ""; // of the page that is shown; the browser's own bar shows one that opens nothing
  let sending = false;
  let connecting = false;
  let waiting = null; // the form and its button that will be sent once the service is back
  let nextTry = 0; // the timer of that
  let fetchedAt = 0; // when the page was last fetched: a busy inbox is fetched at most once a second

  const { canProve } = channel;
  const pair = () => document.body.dataset.proof;
  const NEVER_TAKEN = "base, embed, frame, frameset, iframe, link, meta, object, script, style, template";

  const form = () => document.querySelector("main .card form") || document.querySelector("main form:not(.summary *)");
  const reached = (option) => !option.hidden;
  const inText = (node) => node instanceof HTMLElement && node.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");

  function hasInput() {
    const current = form();
    if (!current) return false;
    if (current.dataset.filled !== undefined || attachments.hasChanged(current)) return true;
    return Array.from(current.elements).some((e) => {
      if (e.matches("input[type=radio], input[type=checkbox]")) return e.checked !== e.defaultChecked;
      if (e.matches("input[type=search], input[type=file], input[type=hidden]")) return false;
      if (e.matches("textarea, input")) return e.value !== e.defaultValue;
      return e.matches("select") && Array.from(e.options).some((o) => o.selected !== o.defaultSelected && o.value !== "");
    });
  }

  // --- preventing accidental answers -------------------------------------------------------------

  // page.css blocks the pointer for the same time.
  function settle() {
    settling = true;
    document.getElementById("main").classList.add("settling");
    clearTimeout(timer);
    timer = setTimeout(() => {
      settling = false;
      document.getElementById("main").classList.remove("settling");
    }, SETTLING);
  }

  function waitForPause() {
    clearTimeout(pausing);
    pausing = setTimeout(() => (pausing = 0), PAUSE);
  }

  // Follows where the person writes, and notices that the page has removed the text and moved the cursor elsewhere.
  function followWriting(event) {
    if (!event.isTrusted) return;
    if (textControl && !textControl.isConnected) waitForPause();
    textControl = inText(event.target) ? event.target : null;
  }

  function endPause() {
    textControl = null;
    clearTimeout(pausing);
    pausing = 0;
  }

  // Whether a key was meant for a text that the page has taken away: all are until the person pauses or uses the pointer.
  function isWrittenOn(event) {
    if (textControl && textControl !== document.activeElement) {
      textControl = null;
      waitForPause();
    }
    if (!pausing) return false;
    waitForPause();
    const isTyped = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    return canAnswer(event) || (isTyped && !inText(event.target));
  }

  // Whether a key press can choose or answer something at its target.
  function canAnswer(event) {
    if (event.key === "Enter") return event.ctrlKey || event.metaKey || !event.target.matches("textarea");
    return !inText(event.target) && (event.key === " " || /^([1-9admx]|Arrow.*)$/.test(event.key));
  }

  // Blocks a key or click that was meant for the previous content, and a key that is still held down.
  function blockIfTooSoon(event) {
    if (!(event.type === "keydown" && isWrittenOn(event)) && !isTooSoon(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  function isTooSoon(event) {
    const own = event.target instanceof Element && (event.target.closest("main form") || event.target.form);
    if (!form() || (event.type === "click" && !own)) return false;
    if (event.type === "keydown" && !canAnswer(event)) return false;
    const held = event.repeat && !inText(event.target) && /^(Enter| |[admx])$/.test(event.key);
    return held || settling;
  }

  for (const type of ["click", "keydown", "submit"]) addEventListener(type, blockIfTooSoon, true);
  for (const type of ["focusin", "input"]) addEventListener(type, followWriting, true);
  addEventListener("pointerdown", endPause, true);

  // --- cutting tall boxes ------------------------------------------------------------------------

  // Boxes that are too tall scroll, also by keyboard, with a note below. Without this file they are not cut.
  function cutTallBoxes(container) {
    const boxes = Array.from(container.querySelectorAll(".long:not(.cut)")).filter((box) => box.checkVisibility());
    for (const box of boxes) box.classList.add("cut");
    const tall = boxes.filter((box) => box.scrollHeight - box.clientHeight > box.clientHeight / 4);
    for (const box of boxes) if (!tall.includes(box)) box.classList.remove("cut");
    for (const box of tall) addMoreNote(box);
  }

  function addMoreNote(box) {
    const main = document.getElementById("main");
    const note = document.createElement("p");
    const below = document.createElement("span");
    const full = document.createElement("a"); // not a button: on a read-only page, buttons are disabled
    note.className = "more";
    below.textContent = `${main.dataset.below} ↓`;
    full.href = "#main";
    full.textContent = main.dataset.full;
    note.append(below, full);
    const update = () => below.classList.toggle("none", box.scrollTop + box.clientHeight >= box.scrollHeight - 2);
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", box.dataset.name);
    box.addEventListener("scroll", update);
    full.addEventListener("click", (event) => {
      event.preventDefault();
      box.classList.remove("cut", "long");
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      note.remove();
    });
    box.after(note);
  }

  // --- addresses ---------------------------------------------------------------------------------

  // The address of a person's page is its key. It is kept in the entry of this tab's history, and the browser shows one
  // that, opened elsewhere, only reads or asks to sign in. Only `channel` sends it, so that no other program learns it.

  const publicAddress = (whole) =>
    whole.replace(/^\/inbox\/[0-9a-f]{32}/, "/inbox/-").replace(/^(\/a\/ask_\w+\.[0-9a-f]+)\.[0-9a-f]+/, "$1").replace(/^\/\?.*/, "/");
  const resolve = (link) => new URL(link, channel.urlOf(address));

  // Keeps the address of the page that is shown, in a new entry of the history or in the current one.
  function keepAddress(whole, isNew) {
    address = whole;
    const url = channel.urlOf(publicAddress(whole)).href;
    if (isNew) history.pushState({ address }, "", url);
    else history.replaceState({ address }, "", url);
  }

  async function startAddress() {
    const own = channel.addressOf(location);
    address = own;
    if (!canProve) return;
    const kept = await keptAddress();
    if (kept === null) keepAddress(own, false);
    else await visit(kept, { isNew: false });
  }

  // The address that this entry of the history had before a reload, or that a notification has opened.
  async function keptAddress() {
    const own = channel.addressOf(location);
    const kept = history.state && history.state.address;
    if (kept && kept !== own && publicAddress(kept) === own) return kept;
    if (location.hash !== "#pushed") return null;
    const home = await recallHome();
    return home && own.replace(/^\/inbox\/-/, home);
  }

  // Shows another page in this document: only then does no request state its address.
  async function visit(to, { form = null, draft = null, isNew = true } = {}) {
    const answer = await channel.open(pair(), to, form);
    const html = answer && parsed(answer.page);
    if (!html) return null;
    if (answer.status < 400) drafts.forget(draft);
    swap(html, ["top", "bar", "main"]);
    keepAddress(answer.address, isNew && answer.address !== address);
    if (isNew) scrollToContent();
    prepare();
    focusFirst();
    announce();
    stop();
    follow();
    return answer;
  }

  // Shows what is open: below its row in a narrow window, where the row goes to the top, or beside the list.
  function scrollToContent() {
    const open = document.querySelector(".entry.open");
    if (!open) scrollTo(0, 0);
    else open.scrollIntoView({ block: matchMedia("(min-width: 62rem)").matches ? "nearest" : "start" });
  }

  // The document that a markup describes; null if it is not a page of ours.
  function parsed(markup) {
    const html = new DOMParser().parseFromString(markup, "text/html");
    return html.getElementById("main") && !html.body.querySelector(NEVER_TAKEN) ? html : null;
  }

  // Takes in parts of another page.
  function swap(html, parts) {
    for (const id of parts) document.getElementById(id).replaceWith(html.getElementById(id));
    document.title = html.title;
    for (const name of ["events", "moved", "show", "drafts"]) {
      if (html.body.dataset[name] === undefined) delete document.body.dataset[name];
      else document.body.dataset[name] = html.body.dataset[name];
    }
    if (!waiting) document.getElementById("live").replaceChildren();
  }

  // Follows a link of ours within this document. With Ctrl and the like, the browser opens a window of its own, once
  // the service has proved that it is there.
  async function followLink(event) {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (link && link.closest(".entry.held")) return event.preventDefault();
    if (link && link.dataset.leave !== undefined) return; // a page with a script of its own
    if (!link || event.button > 1 || event.defaultPrevented || !canProve || link.getAttribute("href").startsWith("#")) return;
    const url = resolve(link.getAttribute("href"));
    if (!channel.isOurs(url)) return;
    event.preventDefault();
    const isElsewhere = event.button > 0 || event.ctrlKey || event.metaKey || event.shiftKey;
    if (isElsewhere && (await channel.isThere(pair()))) window.open(url.href, "_blank", "noopener");
    if (isElsewhere) return;
    const typed = link.matches(".moved") && form() ? typedTexts(form()) : [];
    if ((await visit(channel.addressOf(url))) === null) offerAgain(url.href);
    else showTyped(typed);
  }

  // Says that the service cannot be reached, beside a link to try again.
  function offerAgain(href) {
    const again = document.createElement("a");
    again.href = href;
    again.textContent = document.body.dataset.again;
    tell(document.body.dataset.away, again);
  }

  // --- following the ask -------------------------------------------------------------------------

  async function follow() {
    const mayFollow = () => document.body.dataset.events && !source && (!document.hidden || notifies());
    if (connecting || !mayFollow()) return;
    connecting = true;
    const found = await channel.isThere(pair());
    connecting = false;
    if (!mayFollow()) return;
    if (!found) {
      setTimeout(follow, 5000);
      return;
    }
    source = new EventSource(document.body.dataset.events);
    source.addEventListener("moved", onMoved);
    source.addEventListener("gone", stop);
    source.addEventListener("error", () => {
      // The browser would reconnect to whatever listens there by then.
      stop();
      setTimeout(follow, 2000);
    });
  }

  function stop() {
    if (source) source.close();
    source = null;
  }

  async function onMoved() {
    stop();
    if (sending) return;
    const wait = fetchedAt + 1000 - Date.now();
    if (wait > 0) await new Promise((done) => setTimeout(done, wait));
    fetchedAt = Date.now();
    const isBeingRead = document.querySelector("dialog[open], main .summary");
    if (isBeingRead || !canProve) offerRefresh();
    else await refresh();
  }

  function offerRefresh() {
    if (!document.body.dataset.moved) return;
    const link = document.createElement("a");
    link.href = canProve ? channel.urlOf(address).href : location.href;
    link.textContent = document.body.dataset.show;
    link.className = "moved";
    tell(document.body.dataset.moved, link);
  }

  // Says something above the page, beside a control.
  function tell(text, control) {
    const message = document.createElement("span");
    message.textContent = text;
    document.getElementById("live").replaceChildren(message, control);
  }

  async function refresh() {
    const at = address;
    const shown = document.getElementById("main");
    const answer = await channel.open(pair(), at);
    if (answer === null) {
      setTimeout(follow, 2000);
      return;
    }
    const html = parsed(answer.page);
    // What came meanwhile is newer: the response to something that was sent, with what is wrong with it.
    if (!html || at !== address || sending || !shown.isConnected) return;
    const main = html.getElementById("main");
    const before = form();
    const after = main.querySelector(".card form") || main.querySelector("form");
    const focused = document.activeElement;
    // An explanation leaves its question open, so the input still belongs to it.
    const isSame = Boolean(before && after) && after.dataset.walked === before.dataset.walked;
    if (hasInput() && !isSame) return offerRefresh();
    const keepInput = isSame && (hasInput() || (inText(focused) && before.contains(focused)));
    if (keepInput) {
      copyInput(before, after);
      drafts.supersede(after);
    }
    const ticks = document.getElementById("batch");
    if (ticks && ticks !== before && main.querySelector("#batch")) copyTicks(main);
    const hadFocus = document.getElementById("main").contains(focused);
    const link = focused instanceof HTMLAnchorElement ? focused.getAttribute("href") : null;
    notify(document.getElementById("main"), main);
    swap(html, ["main"]); // what is being searched for stays
    prepare();
    const same = link && Array.from(main.querySelectorAll("a")).find((a) => a.getAttribute("href") === link);
    if (same) same.focus({ preventScroll: true });
    else if (hadFocus && keepInput && counterpart(focused, after)) restoreFocus(focused, counterpart(focused, after));
    else if (hadFocus) focusFirst();
    announce();
    follow();
  }

  // The control in the new form that corresponds to one in the old form.
  function counterpart(control, newForm) {
    if (control.matches(".note-on textarea")) return planComments.reopen(control);
    if (control.matches(".filter")) return newForm.querySelector(".filter");
    if (!control.name) return undefined;
    const exact = control.matches("[type=radio], [type=checkbox], button");
    return Array.from(newForm.elements).find((e) => e.name === control.name && (!exact || e.value === control.value));
  }

  function restoreFocus(oldControl, newControl) {
    if (textControl === oldControl) textControl = newControl;
    newControl.focus({ preventScroll: true });
    if (newControl.matches("textarea")) newControl.setSelectionRange(oldControl.selectionStart, oldControl.selectionEnd);
  }

  // What is ticked stays so, unless the ask has changed.
  function copyTicks(main) {
    const ticked = new Set(Array.from(document.querySelectorAll(".tick input:checked"), (box) => box.value));
    for (const box of main.querySelectorAll(".tick input")) box.checked = ticked.has(box.value);
  }

  // Copies what was entered in the old form into the new one.
  function copyInput(from, to) {
    formRows.match(to, Array.from(from.elements, (each) => each.name));
    attachments.move(from, to);
    for (const oldControl of from.elements) {
      if (!oldControl.matches("textarea, select, input:not([type=hidden], [type=file])")) continue;
      const newControl = counterpart(oldControl, to);
      if (!newControl) continue;
      if (oldControl.matches("[type=radio], [type=checkbox]")) newControl.checked = oldControl.checked;
      else if (oldControl.matches("select")) for (const o of newControl.options) o.selected = Array.from(oldControl.selectedOptions).some((s) => s.value === o.value);
      else newControl.value = oldControl.value;
    }
    for (const oldDetails of from.querySelectorAll("details[id]")) {
      const newDetails = to.querySelector(`#${oldDetails.id}`);
      if (newDetails) newDetails.open = oldDetails.open;
    }
  }

  // What was written into a form that is gone, so that it can be copied.
  function typedTexts(current) {
    const inputs = Array.from(current.elements).filter((each) => each.name && !each.hidden && each.matches("textarea, input[type=text]"));
    const isFilled = current.dataset.filled !== undefined; // by the service, with what was entered before
    const typed = inputs.filter((each) => (isFilled || each.value !== each.defaultValue) && each.value.trim());
    return [...planComments.texts(), ...typed.map((each) => each.value)];
  }

  // Shows texts that nothing was done with above the page that took the place of theirs.
  function showTyped(texts) {
    const card = document.querySelector("main .card");
    if (!texts.length || !card) return;
    const shown = document.createElement("div");
    const title = document.createElement("p");
    title.append(Object.assign(document.createElement("strong"), { textContent: document.getElementById("main").dataset.entered }));
    const quotes = texts.map((text) => Object.assign(document.createElement("blockquote"), { className: "text", textContent: text }));
    shown.className = "summary";
    shown.append(title, ...quotes);
    card.prepend(shown);
  }

  // The text of an element, without what is folded: it can be opened, and repeats what is said.
  function read(element) {
    const copy = element.cloneNode(true);
    const isHead = copy.matches(".asks");
    for (const unread of copy.querySelectorAll(isHead ? "time" : "details:not([open]), .note-on")) unread.remove();
    return copy.textContent;
  }

  function announce() {
    // Everything needed to decide: who asks, the progress, the question, and the context above it.
    const within = document.querySelector("main .card") || document.getElementById("main");
    const parts = Array.from(within.querySelectorAll(".asks, #context, h1, #question, .ended, .asides, form .row .context"));
    const texts = parts.map((part) => read(part).replace(/\s+/g, " ").trim());
    const sentences = texts.filter(Boolean).map((text) => (/[.:!?…]$/.test(text) ? text : `${text}.`));
    document.getElementById("said").textContent = sentences.join(" ");
  }

  function focusFirst() {
    const [ours, asked, row, heading] = ["[autofocus]:not(dialog *)", ".card #question, .card .ended", ".inbox a[href]", "h1"].map((found) => document.querySelector(`main ${found}`));
    const first = ours || asked || row || heading; // never a link of an agent
    if (!first) return;
    if (first === asked || first === heading) first.tabIndex = -1;
    first.focus({ preventScroll: !first.matches(".changed") });
  }

  // --- what the controls do ----------------------------------------------------------------------

  function prepare() {
    settle();
    cutTallBoxes(document.getElementById("main"));
    planComments.prepare();
    undo.prepare();
    attachments.prepare();
    drafts.prepare();
    for (const time of document.querySelectorAll("time")) {
      const at = new Date(time.dateTime);
      const whole = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
      const isClock = time.matches(".clock") || (!time.matches(".dated") && at.toDateString() === new Date().toDateString());
      if (time.matches(".local")) time.textContent = isClock ? at.toLocaleTimeString([], { timeStyle: "short" }) : whole;
      time.title = whole;
    }
    for (const hint of document.querySelectorAll(".keys, .copy")) hint.hidden = false;
    for (const hint of document.querySelectorAll(".unscripted")) hint.remove();
    document.getElementById("main").classList.add("keyed");
    prepareNotifyButton();
    const filter = document.querySelector(".filter");
    if (filter && !filter.matches(":disabled")) {
      filter.hidden = false;
      if (filter.value) filterOptions(filter.value);
      filter.addEventListener("input", () => filterOptions(filter.value));
    }
    const other = document.getElementById("other");
    if (other) {
      other.addEventListener("input", () => {
        const choice = document.querySelector("input[name=choice][value=other]");
        if (choice && other.value.trim()) choice.checked = true;
      });
    }
  }

  function filterOptions(text) {
    const query = text.trim().toLowerCase();
    for (const option of document.querySelectorAll(".choices .option:not(.other)")) {
      const input = option.querySelector("input");
      option.hidden = !input.checked && !option.textContent.toLowerCase().includes(query);
      input.name = option.hidden ? "" : "choice"; // Tab goes to the first radio button of a group, even if it is hidden
    }
    const nothing = document.querySelector(".nothing");
    nothing.textContent = options().some(reached) ? "" : nothing.dataset.text.replace("{text}", text.trim());
  }

  const options = () => Array.from(document.querySelectorAll("#choices .option"));

  // From the filter, Arrow Down goes to the first option that it leaves, and Enter chooses it. Between check boxes the
  // arrows move as they do between radio buttons, which the browser moves itself.
  function moveInOptions(event, current) {
    const boxes = options().filter(reached).map((option) => option.querySelector("input"));
    const at = boxes.indexOf(event.target);
    if (event.target.matches(".filter")) {
      if (event.key === "Escape") {
        event.target.value = "";
        filterOptions("");
      } else if (event.key === "Enter") {
        const found = boxes.find((box) => !box.closest(".other") && !box.checked);
        if (found) found.click();
      } else if (event.key === "ArrowDown" && boxes.length) boxes[0].focus();
      else return false;
    } else if (at >= 0 && event.target.type === "checkbox" && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      boxes.at((at + (event.key === "ArrowDown" ? 1 : -1)) % boxes.length).focus();
    } else return false;
    event.preventDefault();
    return true;
  }

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (!target) return;
    byPointer = event.detail > 0;
    const dialog = document.getElementById("confirm");
    if (dialog && target.closest("button[value=end_turn]")) {
      event.preventDefault();
      dialog.showModal();
      settle();
    } else if (target.closest("button.close")) {
      target.closest("dialog").close();
    }
    if (target.matches("button[value=no_button]")) sendEntered(event); // pressed by the browser, for Enter in an input
    if (target.matches(".copy")) copyLink(target);
    if (target.closest(".all-of")) {
      event.preventDefault();
      tickAll(target.closest(".group"));
    }
    const option = target.closest(".option");
    if (option && !target.closest("label, textarea, details")) option.querySelector("input").click();
    if (target.matches("input[name=choice][value=other]:checked") && !byArrow) {
      document.getElementById("other").focus({ preventScroll: byPointer });
    }
    const file = target.closest(".files a");
    if (file) {
      event.preventDefault(); // an entry of the history has an address of its own
      document.getElementById(file.hash.slice(1)).scrollIntoView({ block: "start" });
    }
    const link = target.closest(".summary a[href^='#']");
    if (link) {
      const box = document.getElementById(link.hash.slice(1));
      if (box) {
        event.preventDefault();
        const input = box.matches("fieldset") ? box.querySelector("input") : box;
        (input || box).focus();
      }
    }
  });

  // Sends a form and shows the page that answers it; while the service is away, what was entered stays on the page.
  async function send(current, button) {
    sending = true;
    const wasWaiting = waiting?.current === current;
    if (wasWaiting) waiting = null; // pressed again: this is sent in its place
    let buttons = [];
    try {
      if (!(await attachments.arrived(current))) {
        if (wasWaiting) document.getElementById("live").replaceChildren(); // which says that it will be sent
        follow(); // which stops if the ask moves meanwhile
        return;
      }
      const fields = new URLSearchParams(new FormData(current, button));
      const action = channel.addressOf(resolve(current.getAttribute("action") || ""));
      if (undo.takes(current, button) && (await holdBack(current, action, fields))) return;
      buttons = Array.from(document.querySelectorAll("main button:enabled"));
      for (const each of buttons) each.disabled = true;
      const to = current.method === "get" ? `${action}?${fields}` : action;
      const draft = fields.get("do") === "back" ? null : current.dataset.draft;
      const answer = await visit(to, { form: current.method === "get" ? null : fields.toString(), draft });
      if (form()?.dataset.filled !== undefined) drafts.saveSoon(); // with what was not sent
      if (answer === null && current.isConnected) sendLater(current, button);
    } finally {
      sending = false;
      for (const each of buttons) each.disabled = false;
    }
  }

  // Holds a decision back, so that it can be undone, and goes on as if it were sent. Returns whether it could be.
  async function holdBack(current, action, fields) {
    const isBatch = current.id === "batch";
    const asks = isBatch ? fields.getAll("ask").map((tick) => tick.split(":")[0]) : [document.querySelector(".entry.open")?.dataset.ask];
    if (!asks[0]) return false;
    const next = isBatch ? null : undo.nextEntry();
    const { failed, show, home } = document.querySelector(".undo-toggle").dataset;
    const link = Object.assign(document.createElement("a"), { textContent: show });
    link.href = resolve(`${home}?open=${asks[0]}`).href;
    if (!(await undo.hold(pair(), action, fields.toString(), asks, (answer) => onSent(answer, failed, link)))) return false;
    if (isBatch) undo.prepare();
    else await visit(channel.addressOf(resolve(next ? next.getAttribute("href") : home)));
    return true;
  }

  // What was held back has been decided; or else that is said, beside a link to it.
  async function onSent(answer, failed, link) {
    if (document.getElementById("keys")) await refresh();
    if (answer.status >= 400 || parsed(answer.page)?.querySelector("main .summary")) tell(failed, link);
  }

  // Keeps a form on the page until the service is back. It is then sent only if the ask has not moved on since: its
  // revision is compared here, and once more by the service, which also counts a form that comes twice only once.
  function sendLater(current, button) {
    waiting = { current, button };
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    const cancel = document.createElement("button");
    cancel.type = "button";
    cancel.textContent = document.body.dataset.cancel;
    cancel.addEventListener("click", () => {
      waiting = null;
      document.getElementById("live").replaceChildren();
    });
    tell(document.body.dataset.unreachable, cancel);
    tryAgain();
  }

  function tryAgain() {
    clearTimeout(nextTry);
    nextTry = setTimeout(sendWaiting, 2000);
  }

  async function sendWaiting() {
    if (!waiting) return;
    const isCurrent = await isStillAtRevision();
    if (!waiting) return;
    const { current, button } = waiting;
    if (isCurrent === null) {
      tryAgain();
      return;
    }
    waiting = null;
    document.getElementById("live").replaceChildren();
    if (isCurrent && current.isConnected) send(current, button);
    else offerRefresh();
  }

  // Whether the ask is where the form left it; null if the service cannot say.
  async function isStillAtRevision() {
    const answer = await channel.open(pair(), address);
    if (answer === null) return null;
    const revision = document.querySelector("main .card")?.dataset.revision;
    const html = parsed(answer.page);
    return revision === undefined || html?.querySelector("main .card")?.dataset.revision === revision;
  }

  document.addEventListener("submit", (event) => {
    textControl = null;
    if (sending) {
      event.preventDefault();
    } else if (canProve) {
      event.preventDefault();
      send(event.target, event.submitter);
    } else {
      sending = true;
      // Only after the browser has read which button it was: a disabled button would not be sent.
      setTimeout(() => {
        for (const button of document.querySelectorAll("main button")) button.disabled = true;
      });
    }
  });

  for (const type of ["click", "auxclick"]) document.addEventListener(type, followLink);
  attachments.begin((current) => channel.addressOf(resolve(current.getAttribute("action") || "")));

  addEventListener("popstate", async (event) => {
    const to = event.state && event.state.address;
    if (to && (await visit(to, { isNew: false })) === null) offerAgain(channel.urlOf(to).href);
  });

  // A page that the browser restores from its back/forward cache may be outdated.
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    stop();
    sending = false;
    settle();
    for (const button of document.querySelectorAll("main button")) button.disabled = false;
    if (canProve) refresh();
    else location.replace(location.href);
  });

  addEventListener("pagehide", stop);
  addEventListener("beforeunload", (event) => {
    if (waiting) event.preventDefault();
  });

  document.addEventListener("toggle", (event) => {
    if (!(event.target instanceof HTMLDetailsElement) || !event.target.open) return;
    cutTallBoxes(event.target);
    // Scrolling the page would move other controls under the pointer.
    if (event.target.id === "editing" && document.querySelector("#changed, main .summary")) return; // which is read first
    const box = { replying: "reply", asking: "ask_back", giving: "hand_over", noting: "note", othering: "other", editing: "e0" }[event.target.id];
    // A box that a refresh opens again takes the cursor out of no text.
    if (box && !inText(document.activeElement)) document.getElementById(box)?.focus({ preventScroll: byPointer });
  }, true);

  const PARTS = ".sheet, .ondemand, .option.other > .own, form"; // what is entered in one is sent by a button of its own

  // The button that sends what is entered where the focus is; none where several decide about it.
  function buttonOf(focused) {
    if (focused.matches("button")) return focused;
    if (focused.matches("a, summary")) return null;
    const isOfAsk = focused === document.body || focused.closest("main .card");
    const part = focused.closest(PARTS) || focused.form || (isOfAsk && form());
    if (!part) return null;
    const within = (part.matches("form") && part.querySelector(".option.other:has(:checked) > .own")) || part;
    return Array.from(within.querySelectorAll("[data-send]")).find((each) => each.closest(PARTS) === within);
  }

  // Sends what is entered where the focus is, or says that this needs a press of a button.
  function sendEntered(event) {
    const button = buttonOf(document.activeElement);
    const none = document.activeElement.form?.querySelector("button[value=no_button]");
    if (!button && !none) return;
    event.preventDefault();
    const live = document.getElementById("live");
    if (button) button.click();
    else if (!live.hasChildNodes()) live.textContent = none.dataset.text;
  }

  document.addEventListener("keyup", () => (byArrow = false));

  // What is chosen is not left below the button that answers.
  document.addEventListener("change", (event) => {
    const option = event.target instanceof Element && event.target.closest(".option");
    if (option) option.scrollIntoView({ block: "nearest" });
  });

  document.addEventListener("keydown", (event) => {
    byArrow = event.key.startsWith("Arrow");
    const current = form();
    if (event.isComposing) return;
    if (!current) {
      if (document.getElementById("keys") && !document.querySelector("dialog[open]") && !inText(document.activeElement) && useKey(event)) event.preventDefault();
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      sendEntered(event);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moveInOptions(event, current) || inText(document.activeElement)) return;
    if (document.querySelector("dialog[open]")) return;
    if (document.getElementById("keys") && useKey(event)) return event.preventDefault();
    if (event.key.startsWith("Arrow")) moveByArrow(event, current);
    if (!/^[1-9]$/.test(event.key)) return;
    const boxes = current.querySelectorAll("#choices .option input");
    const buttons = current.querySelectorAll(".yesno button[name=do]");
    const more = current.querySelector(`.controls button[data-key="${event.key}"]`);
    const index = Number(event.key) - 1;
    if (boxes[index]) {
      event.preventDefault();
      if (boxes[index].closest("[hidden]")) return;
      boxes[index].focus();
      boxes[index].click();
    } else if (more || buttons[index]) {
      event.preventDefault();
      const button = more || buttons[index];
      for (const id of more ? ["more", "granting"] : []) if (more.closest(`#${id}, #grant`)) document.getElementById(id).open = true;
      button.focus();
    }
  });

  // --- the keys of the inbox ---------------------------------------------------------------------

  // Uses a key of the inbox, and returns whether it is one. Keys decide only about the ask that is open, and only where
  // all of it is shown.
  function useKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".cut")) return false;
    const entries = Array.from(document.querySelectorAll(".inbox > .entry > a"));
    const at = entries.findIndex((entry) => entry.getAttribute("aria-current"));
    const isArrow = event.key.startsWith("Arrow");
    if (isArrow && event.target.matches("[type=radio], [type=checkbox]")) return false;
    const shortcut = /^[ad]$/.test(event.key) && document.querySelector(`.card [data-shortcut=${event.key}]`);
    if (shortcut) decideByKey(shortcut);
    else if (event.key === "j" || event.key === "ArrowDown") openEntry(entries[at + 1]);
    else if (event.key === "k" || event.key === "ArrowUp") openEntry(at < 0 ? entries.at(-1) : entries[at - 1]);
    else if (event.key === "m") openReply();
    else if (event.key === "x") tick(entries[at] || event.target);
    else if (event.key === "z") undo.takeBackLast();
    else if (event.key === "?") document.getElementById("keys").showModal();
    else return followRowLink(event.key, entries[at] || event.target);
    return true;
  }

  // Follows the link beside a row that has this key, and returns whether there is one.
  function followRowLink(key, within) {
    const links = within.closest(".entry")?.querySelectorAll(".beside-row a") || [];
    const link = Array.from(links).find((each) => each.dataset.key === key);
    if (link) link.click();
    return Boolean(link);
  }

  function openEntry(entry) {
    if (entry) entry.click();
  }

  function decideByKey(button) {
    const cut = document.querySelector(".card .cut, .card .context details:not([open], .original)");
    if (cut) {
      const note = document.createElement("span");
      tell(document.getElementById("main").dataset.cut, note);
      cut.scrollIntoView({ block: "nearest" });
      return;
    }
    if (!sending) form().requestSubmit(button);
  }

  function openReply() {
    const replying = document.getElementById("replying");
    if (!replying) return;
    document.getElementById("more").open = true;
    replying.open = true;
    document.getElementById("reply").focus();
  }

  function tick(within) {
    const box = within.closest(".entry")?.querySelector(".tick input");
    if (box) box.click();
  }

  // Ticks all of an agent, or unticks them if all are ticked.
  function tickAll(group) {
    const boxes = Array.from(group.querySelectorAll(".entry:not(.held) .tick input"));
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
  }

  // Moves between the questions of a form with a review, where this discards no answers; never discards input.
  function moveByArrow(event, current) {
    const { moves, again } = document.querySelector("main .card").dataset;
    if (moves === undefined || event.shiftKey) return;
    if (/^Arrow(Left|Right)$/.test(event.key)) event.preventDefault(); // the default would choose an option; up and down still do
    if (hasInput()) return;
    const edits = Array.from(current.querySelectorAll(".edit button"));
    const focused = edits.indexOf(document.activeElement);
    if (event.key === "ArrowLeft") press(current, "button[value=back]");
    else if (event.key === "ArrowRight") press(current, again !== undefined ? ".answers button.primary" : "button[value=next]");
    else if (event.key === "ArrowDown" && edits.length) focusByArrow(event, edits[(focused + 1) % edits.length]);
    else if (event.key === "ArrowUp" && edits.length) focusByArrow(event, edits.at(focused < 1 ? -1 : focused - 1));
  }

  function press(current, selector) {
    const button = current.querySelector(selector);
    if (button) current.requestSubmit(button);
  }

  function focusByArrow(event, control) {
    if (event.target.closest(".cut")) return; // the arrow scrolls it
    event.preventDefault();
    control.focus();
  }

  // "2 min ago" becomes wrong on its own.
  setInterval(() => {
    if (!document.hidden && canProve && document.body.dataset.events && document.querySelector(".inbox time")) refresh();
  }, 60000);

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) follow();
    else if (!notifies()) stop();
  });

  async function copyLink(button) {
    const link = document.getElementById("share");
    link.select();
    try {
      await navigator.clipboard.writeText(link.value);
    } catch {
      document.execCommand("copy"); // over plain HTTP
    }
    document.getElementById("said").textContent = button.textContent = button.dataset.copied;
  }

  // --- desktop notifications ---------------------------------------------------------------------

  // While the inbox is open in the background and its button is pressed, a question that comes in is announced on the
  // desktop, unless it is answered at once: only that it waits, and from which agent. It goes when the question does.

  const shown = new Map(); // notifications by the address of their ask

  const permission = () => (window.Notification ? Notification.permission : "denied");

  function notifies() {
    const button = document.querySelector(".notify");
    return button !== null && !canPush(button) && permission() === "granted" && chosen();
  }

  // Whether the button was pressed, remembered by the browser if it may be.
  function chosen(on) {
    try {
      if (on !== undefined) localStorage.setItem("notify", on);
      return localStorage.getItem("notify") === "true";
    } catch {
      return false;
    }
  }

  function prepareNotifyButton() {
    const button = document.querySelector(".notify");
    if (!button) return;
    button.hidden = permission() === "denied";
    if (canPush(button)) {
      preparePushButton(button);
      return;
    }
    button.setAttribute("aria-pressed", notifies());
    button.addEventListener("click", async () => {
      chosen(!notifies() && (await Notification.requestPermission()) === "granted");
      button.hidden = permission() === "denied";
      button.setAttribute("aria-pressed", notifies());
    });
  }

  const rows = (main) => new Map(Array.from(main.querySelectorAll(".entry > a"), (row) => [row.href, row.dataset]));

  function notify(before, after) {
    const old = rows(before);
    const now = rows(after);
    for (const [row, notification] of shown) if (!now.has(row)) notification.close();
    if (!document.hidden) return;
    for (const [row, { waits, since, after }] of now) {
      if (old.get(row)?.since !== since) setTimeout(announceOnDesktop, 1000 * after, row, waits);
    }
  }

  function announceOnDesktop(row, text) {
    if (!document.hidden || !notifies() || !rows(document).has(row)) return;
    const notification = new Notification("Answerback", { body: text, tag: row });
    notification.addEventListener("click", () => {
      focus();
      if (canProve) visit(channel.addressOf(new URL(row)));
      else location.assign(row);
    });
    notification.addEventListener("close", () => shown.delete(row));
    shown.set(row, notification);
  }

  // --- notifications of a page that is closed ----------------------------------------------------

  // Where the operator has turned them on, the button subscribes this browser at its push service. The worker that shows
  // the notifications gets the address of the inbox from the origin's database: no cookie, and nothing that is pushed.

  const canPush = (button) => button.dataset.push !== undefined && canProve && "serviceWorker" in navigator && "PushManager" in window;

  async function preparePushButton(button) {
    const worker = new URL(button.dataset.worker, location.href).href;
    const scope = new URL("./", worker).href;
    const found = async () => {
      const registration = await navigator.serviceWorker.getRegistration(scope);
      const script = registration && (registration.active || registration.waiting || registration.installing);
      return script && script.scriptURL === worker ? registration.pushManager.getSubscription() : null;
    };
    button.addEventListener("click", async () => {
      const old = await found();
      if (old) await old.unsubscribe();
      else if ((await Notification.requestPermission()) === "granted" && (await channel.isThere(pair()))) await subscribe(button, worker, scope);
      button.hidden = permission() === "denied";
      button.setAttribute("aria-pressed", (await found()) !== null);
    });
    button.setAttribute("aria-pressed", (await found()) !== null);
  }

  async function subscribe(button, worker, scope) {
    const registration = await navigator.serviceWorker.register(worker, { scope, updateViaCache: "none" });
    const waiting = registration.installing || registration.waiting;
    if (waiting) await new Promise((done) => waiting.addEventListener("statechange", () => waiting.state === "activated" && done()));
    const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: button.dataset.push });
    const { endpoint, keys } = subscription.toJSON();
    const devices = channel.addressOf(resolve(button.dataset.devices));
    await remember({ home: channel.urlOf(devices.replace("/devices", "")).pathname, proof: pair() });
    const form = new URLSearchParams({ endpoint, key: keys.p256dh, auth: keys.auth });
    const answer = await channel.open(pair(), devices, form.toString());
    if (!answer || answer.status >= 400) await subscription.unsubscribe();
  }

  function openDatabase() {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("answerback", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("push");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => resolve(opening.result);
    });
  }

  async function remember(inbox) {
    const database = await openDatabase();
    const saving = database.transaction("push", "readwrite");
    saving.objectStore("push").put(inbox, "inbox");
    await new Promise((resolve, reject) => {
      saving.oncomplete = resolve;
      saving.onerror = () => reject(saving.error);
    });
    database.close();
  }

  // The path of the inbox that this browser is notified for; null if there is none.
  async function recallHome() {
    const database = await openDatabase();
    const reading = database.transaction("push").objectStore("push").get("inbox");
    const saved = await new Promise((resolve, reject) => {
      reading.onsuccess = () => resolve(reading.result);
      reading.onerror = () => reject(reading.error);
    });
    database.close();
    return saved ? channel.addressOf(new URL(saved.home, location)) : null;
  }

  // The manifest states the address that the installed page opens.
  async function addManifest() {
    const { manifest } = document.body.dataset;
    if (!manifest || !(await channel.isThere(pair()))) return;
    const link = document.createElement("link");
    link.rel = "manifest";
    link.crossOrigin = "use-credentials";
    link.href = manifest;
    document.head.append(link);
  }

  // A worker that is not the service's own, or no longer, gets the script that removes it.
  async function checkWorkers() {
    if (!("serviceWorker" in navigator)) return;
    for (const registration of await navigator.serviceWorker.getRegistrations()) registration.update().catch(() => {});
  }

  document.addEventListener("DOMContentLoaded", () => {
    checkWorkers();
    prepare();
    addManifest();
    startAddress().then(follow);
  });
})();
