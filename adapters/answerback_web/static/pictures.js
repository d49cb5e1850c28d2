// Shows a picture as large as it fits; a click, Escape or Enter closes it. Without this file, its link opens it.
"use strict";

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("a.picture");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const picture = link.querySelector("img");
  const dialog = document.createElement("dialog");
  const close = document.createElement("button");
  // The same address: the page has the picture already, and may not get it again later.
  const large = picture.cloneNode();
  dialog.className = "zoom";
  dialog.setAttribute("aria-label", picture.alt);
  close.type = "button";
  close.append(large);
  dialog.append(close);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    link.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
});
