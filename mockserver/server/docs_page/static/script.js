"use strict";
// Searches this page, opens what a link leads to, and sends an operation to the sandbox of this page. The key is in its field alone: it goes to a header of the call, and nowhere else.
(() => {
  const BODY_MAX_CHARS = 200_000;
  const HEADERS = [
    "content-type", "content-length", "date", "location", "allow", "retry-after", "x-mock-reason",
    "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
  ];
  const root = new URL("..", location.href).pathname; // the page is at /_mock/docs below the sandbox
  const key = document.getElementById("key");

  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function address(form) {
    const query = new URLSearchParams();
    let path = form.dataset.path;
    for (const field of form.querySelectorAll("[data-in]")) {
      const { name } = field.dataset;
      if (field.dataset.in === "path") {
        if (/^\.{1,2}$/.test(field.value)) throw new Error(`${name}: a browser cannot send ${field.value} as a part of a path`);
        path = path.replace(`{${name}}`, () => encodeURIComponent(field.value));
      } else if (field.dataset.in === "query" && field.value !== "") {
        query.append(name, field.value);
      }
    }
    return root + path.slice(1) + (query.size ? `?${query}` : "");
  }

  function request(form) {
    const headers = new Headers();
    if (key.value) headers.set(key.dataset.header, key.dataset.before + key.value);
    const isControl = form.dataset.path.startsWith("/_mock/");
    if (isControl) headers.set("X-Mock-Request", "docs"); // a header that no form of another site can send
    const options = { method: form.dataset.method, headers, cache: "no-store", credentials: isControl ? "same-origin" : "omit" };
    const text = form.querySelector("textarea");
    const files = form.querySelector("[data-files]");
    if (text && text.value.trim()) {
      headers.set("Content-Type", text.dataset.type);
      options.body = text.value;
    } else if (files) {
      options.body = new FormData();
      for (const file of files.files) options.body.append(files.dataset.files, file);
    }
    return options;
  }

  function readable(response, text) {
    let shown = text;
    if ((response.headers.get("content-type") || "").includes("json")) {
      try {
        shown = JSON.stringify(JSON.parse(text), null, 2);
      } catch {
        // a body that a fault has broken is shown as it is
      }
    }
    const rest = shown.length - BODY_MAX_CHARS;
    return rest > 0 ? `${shown.slice(0, BODY_MAX_CHARS)}\n(${rest} more characters)` : shown;
  }

  function report(response, text, milliseconds) {
    const first = element("p", "");
    first.append(element("strong", `${response.status} ${response.statusText}`.trim()), ` in ${milliseconds} ms`);
    const list = element("dl", "", "facts");
    for (const name of HEADERS) {
      const value = response.headers.get(name);
      if (value !== null) list.append(element("dt", name), element("dd", value));
    }
    const body = text ? element("pre", readable(response, text)) : element("p", "The answer has no body.", "quiet");
    return [first, list, body];
  }

  async function send(form) {
    const button = form.querySelector("button");
    const result = form.querySelector(".result");
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    result.replaceChildren(element("p", "Sent; the answer is awaited.", "quiet"));
    const start = performance.now();
    try {
      const response = await fetch(address(form), request(form));
      const text = await response.text();
      result.replaceChildren(...report(response, text, Math.round(performance.now() - start)));
    } catch (failure) {
      result.replaceChildren(element("p", `No answer: ${failure.message}`, "problem"));
    } finally {
      button.removeAttribute("aria-disabled");
    }
  }

  const texts = new Map([...document.querySelectorAll("main article")].map((article) => [article, article.textContent.toLowerCase()]));

  // Only what has each word stays, with its entry among the contents.
  function search(words) {
    for (const [article, text] of texts) article.hidden = !words.every((word) => text.includes(word));
    for (const section of document.querySelectorAll("main > section:has(article)")) section.hidden = !section.querySelector("article:not([hidden])");
    for (const link of document.querySelectorAll(".contents a")) link.hidden = document.getElementById(link.hash.slice(1)).hidden;
    const found = [...texts.keys()].filter((article) => !article.hidden).length;
    document.getElementById("found").textContent = words.length ? `${found} of ${texts.size} entries` : "";
  }

  function openTarget() {
    const whole = location.hash && document.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"] > .whole`);
    if (whole) whole.open = true;
  }

  document.getElementById("no-script").hidden = true;
  document.getElementById("search").hidden = false;
  document.getElementById("find").addEventListener("input", ({ target }) => search(target.value.toLowerCase().split(/\s+/).filter(Boolean)));
  addEventListener("hashchange", openTarget);
  openTarget();
  document.getElementById("credential").hidden = false;
  for (const form of document.querySelectorAll("form.send")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(form);
    });
  }
})();
