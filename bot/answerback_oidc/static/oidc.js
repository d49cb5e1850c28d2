// Signs a person in: it begins at the identity provider and ends here, in the same tab. What the tab needs in between,
// and the session afterwards, is in the tab's sessionStorage: no cookie, and nothing that another tab or port could read.
"use strict";

(async () => {
  const ATTEMPT = "answerback.sign-in";
  const SESSION = "answerback.session";

  async function post(path, fields) {
    const options = { method: "POST", body: new URLSearchParams(fields), credentials: "omit", redirect: "error", cache: "no-store" };
    const response = await fetch(path, options);
    const type = response.headers.get("Content-Type") || "";
    const answer = type.startsWith("application/json") ? await response.json() : {};
    if (!response.ok) throw new Error(answer.error || String(response.status));
    return answer;
  }

  function say(text) {
    document.getElementById("said").textContent = text;
    document.getElementById("again").hidden = false;
  }

  function open(answer) {
    sessionStorage.setItem(SESSION, answer.session);
    location.replace(answer.address);
  }

  async function begin() {
    const to = new URLSearchParams(location.search).get("to") || "";
    const session = sessionStorage.getItem(SESSION);
    if (session) {
      const found = await post("resume", { session, to }).catch(() => null);
      if (found) return open(found);
      sessionStorage.removeItem(SESSION);
    }
    const begun = await post("begin", { to });
    sessionStorage.setItem(ATTEMPT, begun.attempt);
    location.replace(begun.url);
  }

  async function finish() {
    const response = location.search.slice(1);
    history.replaceState(null, "", location.pathname); // the code is for nobody else
    const attempt = sessionStorage.getItem(ATTEMPT) || "";
    sessionStorage.removeItem(ATTEMPT);
    open(await post("finish", { attempt, response }));
  }

  try {
    await (document.body.dataset.step === "callback" ? finish() : begin());
  } catch (error) {
    say(error.message);
  }
})();
