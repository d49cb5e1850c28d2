// Comments on the lines of a plan: a press on a line opens a text below it. All of them are kept in one field of the
// form, which the service makes one message of. Without this file a plan can be read, and answered with a message.
"use strict";

const planComments = (() => {
  const LINES = ".heading, p.text, pre.code:not(.diff) .row-of, .diff .line, tr";
  const SPACED = "details.original, .note-on";
  let selecting = false; // whether text was selected when the pointer went down

  const plan = () => document.querySelector("main form .plan");
  const field = () => document.getElementById("comments");
  const linesOf = (within) => Array.from(within.querySelectorAll(LINES)).filter((line) => !line.closest(SPACED));
  const boxOf = (line) => document.getElementById(`comment-${line.dataset.line}`);

  // Each line of code is an element of its own; what is coloured stays so.
  function divide(code) {
    const rows = [[]];
    for (const part of code.childNodes) {
      part.textContent.split("\n").forEach((text, i) => {
        if (i) rows.push([]);
        const copy = part.cloneNode();
        copy.textContent = text;
        if (text) rows.at(-1).push(copy);
      });
    }
    const last = rows.length - 1;
    code.replaceChildren(
      ...rows.map((parts, i) => {
        const row = document.createElement("span");
        row.className = "row-of";
        row.append(...parts, i < last ? "\n" : "");
        return row;
      }),
    );
  }

  // What a comment quotes: the line as the plan's Markdown has it, as far as it shows.
  function quoteOf(line) {
    const cells = Array.from(line.cells || []);
    if (cells.length) return cells.map((cell) => cell.textContent.trim()).join(" | ");
    const text = Array.from(line.childNodes).filter((each) => !(each instanceof Element && each.matches(".note-on, .comment-on"))).map((each) => each.textContent).join("").replace(/\n$/, "");
    if (line.matches(".heading")) return `${"#".repeat(line.ariaLevel - 1)} ${text}`;
    const item = line.closest("li");
    if (!item || item.firstElementChild !== line) return text;
    return item.parentElement.matches("ol") ? `${item.value}. ${text}` : `- ${text}`;
  }

  function open(line, text = "") {
    let box = boxOf(line);
    if (!box) {
      const { comment, remove, about } = plan().dataset;
      box = document.createElement("span");
      box.className = "note-on";
      box.id = `comment-${line.dataset.line}`;
      const area = document.createElement("textarea");
      area.className = "grow";
      area.rows = 1;
      area.setAttribute("aria-label", comment.replace("{line}", quoteOf(line)));
      const button = document.createElement("button");
      button.type = "button";
      button.className = "small";
      button.textContent = remove;
      button.setAttribute("aria-label", about);
      area.id = `${box.id}-text`;
      box.append(area, button);
      let place = line.closest(".scroll") || line; // a table cannot have it within
      while (place.nextElementSibling?.matches(".note-on")) place = place.nextElementSibling;
      place.after(box);
      line.classList.add("commented-on");
    }
    const area = box.querySelector("textarea");
    if (text && area.value !== text) area.value = text;
    return area;
  }

  function close(box) {
    const line = lineOf(box);
    focusOn(line);
    box.remove();
    line.classList.remove("commented-on");
    keep();
  }

  // Opens a comment of another page of the same plan here, even if nothing is written in it yet.
  function reopen(area) {
    const line = plan() && lineOf(area.closest(".note-on"));
    return line ? open(line) : undefined;
  }

  const lineOf = (box) => plan().querySelector(`[data-line="${box.id.replace("comment-", "")}"]`);

  // Puts what is written into the form's field.
  function keep() {
    const boxes = Array.from(plan().querySelectorAll(".note-on"), (box) => [Number(box.id.replace("comment-", "")), box.querySelector("textarea").value]);
    const written = boxes.filter(([, text]) => text.trim()).sort(([a], [b]) => a - b);
    const all = written.map(([at, text]) => [at, quoteOf(plan().querySelector(`[data-line="${at}"]`)), text]);
    field().value = all.length ? JSON.stringify(all) : "";
    field().dispatchEvent(new Event("input", { bubbles: true }));
    count(all.length);
  }

  function count(number) {
    const said = document.querySelector(".commented");
    if (!said) return;
    said.hidden = !number;
    said.textContent = number ? said.dataset.text.replace("{count}", number) : "";
  }

  // Of the buttons that comment, the one at which the arrow keys are is reached by Tab.
  function focusOn(line) {
    for (const each of plan().querySelectorAll(".comment-on")) each.tabIndex = -1;
    const button = line.querySelector(".comment-on");
    button.tabIndex = 0;
    button.focus();
  }

  // Shows the comments that the form's field has.
  function show() {
    const shown = plan();
    if (!shown || !field()) return;
    let written = [];
    try {
      written = JSON.parse(field().value || "[]");
    } catch {
      return; // it is sent as it is
    }
    const kept = new Set(written.map(([at]) => `comment-${at}`));
    for (const box of shown.querySelectorAll(".note-on")) if (!kept.has(box.id) && !box.contains(document.activeElement)) box.remove();
    for (const [at, , text] of written) {
      const line = shown.querySelector(`[data-line="${at}"]`);
      if (line) open(line, text);
    }
    count(written.length);
  }

  function prepare() {
    const shown = plan();
    if (!shown || !field() || shown.dataset.lines) return;
    for (const code of shown.querySelectorAll("pre.code:not(.diff) > code")) if (!code.closest(SPACED)) divide(code);
    const lines = linesOf(shown);
    lines.forEach((line, at) => {
      line.dataset.line = at;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "hidden comment-on";
      button.tabIndex = at ? -1 : 0;
      button.setAttribute("aria-label", shown.dataset.comment.replace("{line}", quoteOf(line)));
      (line.cells ? line.cells[0] : line).append(button);
    });
    shown.dataset.lines = lines.length;
    const hint = document.getElementById("comment-hint");
    if (hint) hint.hidden = !lines.length;
    show();
  }

  // What was written, each text below the line that it quotes.
  function texts() {
    const boxes = plan() ? Array.from(plan().querySelectorAll(".note-on")) : [];
    return boxes.filter((box) => box.querySelector("textarea").value.trim()).map((box) => `${quoteOf(lineOf(box)).replace(/^/gm, "> ")}\n\n${box.querySelector("textarea").value}`);
  }

  document.addEventListener("pointerdown", () => (selecting = !getSelection().isCollapsed));

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const box = target && target.closest(".note-on");
    if (box) {
      if (target.closest("button")) close(box);
      return;
    }
    const line = target && target.closest("main form .plan [data-line]");
    if (!line || event.defaultPrevented || target.closest("a, summary, button:not(.comment-on)")) return;
    if (event.detail && (selecting || !getSelection().isCollapsed)) return; // the text was selected
    open(line).focus({ preventScroll: event.detail > 0 });
  });

  document.addEventListener("input", (event) => event.target instanceof Element && event.target.closest(".plan .note-on") && keep());

  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    const box = target && target.closest(".note-on");
    if (box && event.key === "Escape" && !event.isComposing) {
      event.preventDefault();
      if (target.value === undefined || !target.value.trim()) close(box);
      else focusOn(lineOf(box));
      return;
    }
    if (!target || !target.matches(".comment-on") || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
    const all = linesOf(plan());
    const at = all.indexOf(target.closest("[data-line]"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    event.preventDefault();
    event.stopPropagation();
    if (all[to]) focusOn(all[to]);
  }, true);

  return { prepare, show, texts, reopen };
})();
