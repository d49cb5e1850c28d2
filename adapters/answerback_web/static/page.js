// What the page can do beyond plain forms: it follows its ask, never losing what is being entered,
// takes keys, and lets nobody decide by accident. Without this file every control works all the same.
// It is loaded before the page's content: a key that is pressed while that appears is already seen here.
"use strict";

(() => {
  const SETTLING = 500; // ms
  let settling = true; // whether what can be pressed has only just changed
  let timer = 0;
  let byPointer = false; // whether the last click came from a pointer, and not from a key
  let source = null;
  let sending = false;
  let shownAt = 0; // when the page was last fetched: a busy inbox is fetched once a second at the most

  const form = () => document.querySelector("main form");
  const inText = (node) => node instanceof HTMLElement && node.matches("textarea, select, input:not([type=radio]):not([type=checkbox])");

  function entered() {
    const now = form();
    if (!now) return false;
    if (now.dataset.filled !== undefined) return true;
    return Array.from(now.elements).some((e) => {
      if (e.matches("input[type=radio], input[type=checkbox]")) return e.checked !== e.defaultChecked;
      if (e.matches("input[type=search]")) return false;
      if (e.matches("textarea, input")) return e.value !== e.defaultValue;
      return e.matches("select") && Array.from(e.options).some((o) => o.selected !== o.defaultSelected && o.value !== "");
    });
  }

  // --- nobody decides by accident ----------------------------------------------------------------

  // page.css keeps the pointer off as long.
  function settle() {
    settling = true;
    document.getElementById("main").classList.add("settling");
    clearTimeout(timer);
    timer = setTimeout(() => {
      settling = false;
      document.getElementById("main").classList.remove("settling");
    }, SETTLING);
  }

  // Whether a key can choose or answer something where it is pressed.
  function decides(event) {
    if (event.key === "Enter") return event.ctrlKey || event.metaKey || !event.target.matches("textarea");
    return !inText(event.target) && (event.key === " " || /^([1-9]|Arrow.*)$/.test(event.key));
  }

  // A key or a click that was meant for what stood here before, or a key that is still held down.
  function tooSoon(event) {
    const now = form();
    if (!now || (event.type === "click" && !now.contains(event.target))) return;
    if (event.type === "keydown" && !decides(event)) return;
    const held = event.repeat && !inText(event.target) && (event.key === "Enter" || event.key === " ");
    if (!held && !settling) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  for (const type of ["click", "keydown", "submit"]) addEventListener(type, tooSoon, true);

  // --- what is cut says so -----------------------------------------------------------------------

  // Boxes that are too tall scroll, by keyboard too, and say so below. Without this file they are not cut.
  function cut(within) {
    const boxes = Array.from(within.querySelectorAll(".long:not(.cut)")).filter((box) => box.checkVisibility());
    for (const box of boxes) box.classList.add("cut");
    const tall = boxes.filter((box) => box.scrollHeight - box.clientHeight > box.clientHeight / 4);
    for (const box of boxes) if (!tall.includes(box)) box.classList.remove("cut");
    for (const box of tall) sign(box);
  }

  function sign(box) {
    const main = document.getElementById("main");
    const made = document.createElement("p");
    const below = document.createElement("span");
    const full = document.createElement("a"); // no button: those of a page that only shows are disabled
    made.className = "more";
    below.textContent = `${main.dataset.below} ↓`;
    full.href = "#main";
    full.textContent = main.dataset.full;
    made.append(below, full);
    const look = () => below.classList.toggle("none", box.scrollTop + box.clientHeight >= box.scrollHeight - 2);
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", box.dataset.name);
    box.addEventListener("scroll", look);
    full.addEventListener("click", (event) => {
      event.preventDefault();
      box.classList.remove("cut", "long");
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
      made.remove();
    });
    box.after(made);
  }

  // --- following the ask -------------------------------------------------------------------------

  function follow() {
    const path = document.body.dataset.events;
    if (!path || source || document.hidden) return;
    source = new EventSource(path);
    source.addEventListener("moved", moved);
    source.addEventListener("gone", stop);
    source.addEventListener("error", () => {
      // The browser connects again by itself, but for answers that are no stream: a restart, say.
      if (source && source.readyState === EventSource.CLOSED) {
        stop();
        setTimeout(follow, 5000);
      }
    });
  }

  function stop() {
    if (source) source.close();
    source = null;
  }

  async function moved() {
    stop();
    if (sending) return;
    const soon = shownAt + 1000 - Date.now();
    if (soon > 0) await new Promise((done) => setTimeout(done, soon));
    shownAt = Date.now();
    const asking = document.querySelector("dialog[open], main .summary");
    if (asking) tell();
    else await refresh();
  }

  function tell() {
    const text = document.body.dataset.moved;
    if (!text) return;
    const words = document.createElement("span");
    words.textContent = text;
    const show = document.createElement("a");
    show.href = location.href;
    show.textContent = document.body.dataset.show;
    document.getElementById("live").replaceChildren(words, show);
  }

  async function refresh() {
    let answer;
    try {
      answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    } catch {
      setTimeout(follow, 2000);
      return;
    }
    const html = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = html.getElementById("main");
    if (!main) return;
    const before = form();
    const after = main.querySelector("form");
    const keeps = entered();
    if (keeps) {
      // An explanation leaves its question open, and what is entered there alone.
      if (!after || after.dataset.walked !== before.dataset.walked) return tell();
      carry(before, after);
    }
    const focused = document.activeElement;
    const hadFocus = document.getElementById("main").contains(focused);
    const link = focused instanceof HTMLAnchorElement ? focused.getAttribute("href") : null;
    document.getElementById("main").replaceWith(main);
    document.title = html.title;
    for (const name of ["events", "moved", "show"]) {
      if (html.body.dataset[name] === undefined) delete document.body.dataset[name];
      else document.body.dataset[name] = html.body.dataset[name];
    }
    document.getElementById("live").replaceChildren();
    prepare();
    const same = link && Array.from(main.querySelectorAll("a")).find((a) => a.getAttribute("href") === link);
    if (same) same.focus({ preventScroll: true });
    else if (hadFocus && keeps && again(focused, after)) focusAgain(focused, again(focused, after));
    else if (hadFocus) focusFirst();
    announce();
    follow();
  }

  // The control that another one was before the page was fetched anew.
  function again(control, within) {
    if (!within || !control.name) return undefined;
    const exact = control.matches("[type=radio], [type=checkbox], button");
    return Array.from(within.elements).find((e) => e.name === control.name && (!exact || e.value === control.value));
  }

  function focusAgain(before, now) {
    now.focus({ preventScroll: true });
    if (now.matches("textarea")) now.setSelectionRange(before.selectionStart, before.selectionEnd);
  }

  // Puts what is entered in a form into the same form as it is shown now.
  function carry(from, to) {
    for (const old of from.querySelectorAll("textarea, select, input:not([type=hidden])")) {
      const now = again(old, to);
      if (!now) continue;
      if (old.matches("[type=radio], [type=checkbox]")) now.checked = old.checked;
      else if (old.matches("select")) for (const o of now.options) o.selected = Array.from(old.selectedOptions).some((s) => s.value === o.value);
      else now.value = old.value;
    }
    for (const old of from.querySelectorAll("details[id]")) {
      const now = to.querySelector(`#${old.id}`);
      if (now) now.open = old.open;
    }
  }

  function announce() {
    // The whole of what is to be decided: who asks, how far along, the question, and what stands above it.
    const parts = Array.from(document.querySelectorAll("main .asks, main #context, main h1, main .asides"));
    const words = parts.map((part) => part.textContent.replace(/\s+/g, " ").trim());
    const sentences = words.filter(Boolean).map((text) => (/[.:!?…]$/.test(text) ? text : `${text}.`));
    document.getElementById("said").textContent = sentences.join(" ");
  }

  function focusFirst() {
    const first = document.querySelector("main [autofocus]") || document.querySelector("main a[href]");
    if (first) first.focus({ preventScroll: true });
  }

  // --- what the controls do ----------------------------------------------------------------------

  function prepare() {
    settle();
    cut(document.getElementById("main"));
    for (const time of document.querySelectorAll("time.local")) {
      time.textContent = new Date(time.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    }
    const filter = document.querySelector(".filter");
    if (filter && !filter.matches(":disabled")) {
      filter.hidden = false;
      filter.addEventListener("input", () => narrow(filter.value));
    }
    const other = document.getElementById("other");
    if (other) {
      other.addEventListener("input", () => {
        if (other.value.trim()) document.querySelector("input[name=choice][value=other]").checked = true;
      });
    }
  }

  function narrow(text) {
    const wanted = text.trim().toLowerCase();
    for (const option of document.querySelectorAll(".choices .option:not(.other)")) {
      const chosen = option.querySelector("input").checked;
      option.hidden = !chosen && !option.textContent.toLowerCase().includes(wanted);
    }
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
    } else if (dialog && target.closest("button.close")) {
      dialog.close();
    }
    const option = target.closest(".option");
    if (option && !target.closest("label, textarea, details")) option.querySelector("input").click();
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

  document.addEventListener("submit", (event) => {
    if (sending) {
      event.preventDefault();
      return;
    }
    sending = true;
    // After the browser has read which button it was; a disabled one would not be sent.
    setTimeout(() => {
      for (const button of document.querySelectorAll("main button")) button.disabled = true;
    });
  });

  // A page that comes back from the browser's memory may be old.
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    stop();
    sending = false;
    settle();
    for (const button of document.querySelectorAll("main button")) button.disabled = false;
    follow();
  });

  addEventListener("pagehide", stop);

  document.addEventListener("toggle", (event) => {
    if (!(event.target instanceof HTMLDetailsElement) || !event.target.open) return;
    cut(event.target);
    // A scrolled page would move other controls under the pointer.
    const box = { replying: "reply", asking: "ask_back" }[event.target.id];
    if (box) document.getElementById(box).focus({ preventScroll: byPointer });
  }, true);

  document.addEventListener("keydown", (event) => {
    const now = form();
    if (!now || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      const at = document.activeElement && document.activeElement.id;
      const answering = document.querySelector(".yesno button:focus") || now.querySelector(".answers:not(.yesno) button.primary");
      const button = ["reply", "ask_back"].includes(at) ? now.querySelector(`button[value=${at}]`) : answering;
      if (button) {
        event.preventDefault();
        now.requestSubmit(button);
      }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || inText(document.activeElement)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key.startsWith("Arrow")) move(event, now);
    if (!/^[1-9]$/.test(event.key)) return;
    const boxes = now.querySelectorAll("#choices input[name=choice]");
    const buttons = now.querySelectorAll(".yesno button");
    const place = Number(event.key) - 1;
    if (boxes[place]) {
      event.preventDefault();
      boxes[place].focus();
      boxes[place].click();
    } else if (buttons[place]) {
      event.preventDefault();
      buttons[place].focus();
    }
  });

  // Between the questions of a form with a review, where moving discards nothing; what was entered stays.
  function move(event, now) {
    const { moves, again } = document.querySelector("main .card").dataset;
    if (moves === undefined || event.shiftKey) return;
    if (/^Arrow(Left|Right)$/.test(event.key)) event.preventDefault(); // which would choose: up and down do
    if (entered()) return;
    const edits = Array.from(now.querySelectorAll(".edit button"));
    const there = edits.indexOf(document.activeElement);
    if (event.key === "ArrowLeft") press(now, "button[value=back]");
    else if (event.key === "ArrowRight" && again !== undefined) press(now, ".answers button.primary");
    else if (event.key === "ArrowDown" && edits.length) focusOn(event, edits[(there + 1) % edits.length]);
    else if (event.key === "ArrowUp" && edits.length) focusOn(event, edits.at(there < 1 ? -1 : there - 1));
  }

  function press(now, selector) {
    const button = now.querySelector(selector);
    if (button) now.requestSubmit(button);
  }

  function focusOn(event, control) {
    if (event.target.closest(".cut")) return; // which scrolls
    event.preventDefault();
    control.focus();
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : follow()));

  document.addEventListener("DOMContentLoaded", () => {
    prepare();
    follow();
  });
})();
