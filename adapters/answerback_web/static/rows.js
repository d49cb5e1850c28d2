// Adds and removes the rows of an array of objects on the page. Without this file, the service does so.
"use strict";

const formRows = (() => {
  const rowsOf = (set) => Array.from(set.querySelectorAll(":scope > .object:not([hidden])"));
  const keyOf = (row) => row.querySelector("[type=hidden]").value;

  // A row that is not there yet stands in the page, hidden and disabled, so that it is not sent.
  function insert(set, key) {
    const blank = set.querySelector(":scope > .object[hidden]");
    const row = blank.cloneNode(true);
    row.hidden = row.disabled = false;
    row.querySelector("[type=hidden]").value = key;
    for (const each of row.querySelectorAll("*")) {
      for (const name of ["id", "name", "for", "aria-describedby", "value"]) {
        const value = each.getAttribute(name);
        if (value !== null) each.setAttribute(name, value.replaceAll(`${set.id}.new`, `${set.id}.${key}`));
      }
    }
    blank.before(row);
    return row;
  }

  function changed(set) {
    const left = rowsOf(set);
    left.forEach((row, i) => row.querySelectorAll(".n").forEach((number) => (number.textContent = i + 1)));
    set.querySelector(".add").disabled = left.length >= Number(set.dataset.most);
    set.form.dataset.filled = ""; // also if nothing was typed
  }

  // Gives a form those rows whose inputs are named.
  function match(within, names) {
    for (const set of within.querySelectorAll(".rowset")) {
      const found = names.map((name) => name.match(/^(f\d+)\.(\d+)\.\d+$/)).filter((each) => each && each[1] === set.id);
      const wanted = new Set(found.map((each) => each[2]));
      const there = new Set(rowsOf(set).map(keyOf));
      if (wanted.size === there.size && [...wanted].every((key) => there.has(key))) continue;
      for (const row of rowsOf(set)) if (!wanted.has(keyOf(row))) row.remove();
      for (const key of wanted) if (!there.has(key)) insert(set, key);
      changed(set);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element && event.target.closest(".rowset button[name=do]");
    if (!button || event.defaultPrevented) return;
    event.preventDefault();
    const set = button.closest(".rowset");
    if (button.matches(".add")) {
      const row = insert(set, Math.max(-1, ...rowsOf(set).map((each) => Number(keyOf(each)))) + 1);
      row.querySelector("input:not([type=hidden]), textarea, select").focus();
    } else {
      button.closest(".object").remove();
      set.querySelector(".add").disabled = false;
      set.querySelector(".add").focus();
    }
    changed(set);
    set.dispatchEvent(new Event("input", { bubbles: true }));
  });

  return { match };
})();
