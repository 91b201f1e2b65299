"use strict";
// The actions of a page, and its clock; what is read stays in place.
(() => {
  const { base } = document.body.dataset;
  const HEADERS = { "X-Mock-Request": "page" }; // a header that no form of another site can send
  const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]]; // of a span, in seconds
  const FIRED_MOST = 5; // timers that an advance lists
  let clock = null, shownAt = 0;
  const names = {}; // of the records whose timers were due, by id
  const byId = (id) => document.getElementById(id);
  const write = (node, text) => node.textContent === text || (node.textContent = text); // no change without a difference
  const pageAt = async (address) => new DOMParser().parseFromString(await (await fetch(address, { headers: { Accept: "text/html" }, cache: "no-store" })).text(), "text/html");

  function announce(text, isBad) {
    byId("status").classList.toggle("bad", Boolean(isBad));
    byId("status").textContent = text;
  }

  // Actions
  function filled(value, fields) {
    if (typeof value === "string" && value.startsWith("$")) return fields[value.slice(1)];
    if (Array.isArray(value)) return value.map((item) => filled(item, fields));
    if (value === null || typeof value !== "object") return value;
    const pairs = Object.entries(value).map(([name, item]) => [name, filled(item, fields)]);
    return Object.fromEntries(pairs.filter(([, item]) => item !== undefined));
  }

  function fieldsOf(form, submitter) {
    const fields = {};
    const words = {};
    for (const field of form.elements) {
      if (!field.name || (field.tagName === "BUTTON" && field !== submitter) || field.value === "") continue;
      fields[field.name] = field.hasAttribute("data-json") ? JSON.parse(field.value) : field.value;
      if (field.classList.contains("secret")) continue;
      words[field.name] = field.tagName === "SELECT" ? field.selectedOptions[0].text : field.value;
    }
    return { fields, words };
  }

  async function call(method, path, body) {
    const options = { method, headers: { ...HEADERS }, cache: "no-store" };
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers["Content-Type"] = "application/json";
    }
    const response = await fetch(`${base}/${path}`, options).catch(() => {
      throw new Error("the server does not answer; it has ended, or cannot be reached");
    });
    const text = await response.text();
    const answer = text ? JSON.parse(text) : {};
    if (response.ok) return answer;
    const first = answer.problems && answer.problems[0];
    throw new Error(first ? `${answer.message} (${first.path}: expected ${first.wanted})` : answer.message);
  }

  // A timer in words, as the server writes it.
  const phrase = ({ what, id }) => `${JSON.parse(byId("bar").dataset.timers)[what] || what} ${names[id] || id}`;

  function resultOf(label, answer) {
    const first = label.charAt(0).toUpperCase() + label.slice(1);
    if (Array.isArray(answer.fired)) {
      const happened = [...new Set(answer.fired.map(phrase))];
      const rest = happened.length > FIRED_MOST ? `; and ${happened.length - FIRED_MOST} more` : "";
      return `${first}: ${happened.slice(0, FIRED_MOST).join("; ") || "nothing was due"}${rest}.`;
    }
    if (Array.isArray(answer.deliveries)) {
      const ends = answer.deliveries.map((row) => {
        const last = row.attempts[row.attempts.length - 1] || {};
        return `${row.status}${last.status ? ` (answer ${last.status})` : last.error ? ` (${last.error})` : ""}`;
      });
      return `${first}: ${ends.join(", ") || "no endpoint takes it"}.`;
    }
    return `${first}: done.`;
  }

  async function act(form, submitter) {
    const button = submitter || form.querySelector("button");
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    const { fields, words } = fieldsOf(form, submitter);
    const label = form.dataset.label.replace(/\$(\w+)/g, (_, name) => words[name] || "").slice(0, 200);
    try {
      const body = form.dataset.body === undefined ? undefined : filled(JSON.parse(form.dataset.body), fields);
      const answer = await call(form.dataset.method, form.dataset.path, body);
      await refresh(button.id);
      announce(resultOf(label, answer));
    } catch (failure) {
      await refresh(button.id).catch(() => undefined);
      announce(`Not done: ${failure.message}`, true);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  }

  // The page as it is now
  async function refresh(focusId) {
    const next = await pageAt(location.href);
    if (!next.getElementById("bar")) return location.reload();
    const open = [...document.querySelectorAll("details[open][id]")].map((node) => node.id);
    const values = [...document.querySelectorAll(".act input[id], .act select[id]")].map((node) => [node.id, node.value]);
    const focused = focusId || (document.activeElement && document.activeElement.id);
    const scroll = [scrollX, scrollY];
    document.title = next.title;
    for (const id of ["top", "bar", "content"]) byId(id).replaceWith(document.adoptNode(next.getElementById(id)));
    for (const id of open) if (byId(id)) byId(id).open = true;
    for (const [id, value] of values) if (byId(id) && id !== "to" && byId(id).type !== "checkbox") byId(id).value = value;
    begin();
    scrollTo(...scroll);
    const target = focused && (byId(focused) || byId("content"));
    if (target) target.focus({ preventScroll: true });
  }

  function begin() {
    for (const node of document.querySelectorAll("form.act, .copy")) node.hidden = false;
    Object.assign(names, JSON.parse(byId("bar").dataset.names));
    clock = { frozen: byId("clock-state").textContent === "frozen", now: byId("now").dateTime };
    shownAt = performance.now();
  }

  // The clock
  function showClock(now) {
    const [day, time] = now.split("T");
    byId("now").dateTime = now;
    byId("now").lastChild.data = ` ${time.replace("Z", "").padEnd(12, ".000").slice(0, 12)}`;
    byId("now").querySelector(".date").textContent = day;
  }

  // A span in its two largest units, as the server writes it.
  function words(ms) {
    const parts = [];
    let left = Math.max(0, Math.round(ms / 1000));
    for (const [size, unit] of UNITS) {
      if (left >= size) parts.push(`${Math.floor(left / size)}${unit}`);
      left %= size;
    }
    return parts.slice(0, 2).join(" ") || "0s";
  }

  function showWaits(now) {
    for (const node of document.querySelectorAll("[data-due]")) {
      const wait = Date.parse(node.dataset.due) - now;
      write(node, wait > 0 ? `in ${words(wait)}` : "now");
      const step = node.parentElement.querySelector("form.act");
      if (step && node.classList.contains("wait")) step.hidden = wait <= 0;
    }
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.act")) return;
    event.preventDefault();
    act(event.target, event.submitter);
  });
  document.addEventListener("click", async (event) => {
    const { target } = event;
    if (target.closest(".pick") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      await choose(target.closest(".pick"));
    } else if (target.matches(".copy")) {
      const copied = navigator.clipboard.writeText(target.parentElement.querySelector("pre").textContent);
      await copied.then(() => announce("Copied."), () => announce("Not copied: the browser refuses it here; select the text instead.", true));
    }
    for (const sheet of document.querySelectorAll("details.more[open]")) if (!sheet.contains(target)) sheet.open = false;
  });

  // Keys
  async function choose(pick) {
    history.replaceState(null, "", pick.href);
    await refresh(pick.id).catch((failure) => announce(`Not shown: ${failure.message}`, true));
  }

  function chooseBeside(step) {
    const picks = [...document.querySelectorAll(".pick")], at = picks.findIndex((node) => node.hasAttribute("aria-current"));
    if (picks[at + step]) choose(picks[at + step]);
  }

  const KEYS = {
    j: () => chooseBeside(1),
    k: () => chooseBeside(-1),
    c: () => document.querySelector(".chosen .copy")?.click(),
  };
  document.addEventListener("keydown", (event) => {
    const sheet = event.key === "Escape" && document.querySelector("details.more[open]");
    const isTyped = event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select");
    if (sheet) {
      sheet.open = false;
      sheet.querySelector("summary").focus();
    } else if (!isTyped && Object.hasOwn(KEYS, event.key)) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });
  document.documentElement.classList.add("scripted");
  if (byId("bar")) {
    begin();
    setInterval(() => {
      if (clock.frozen || !/Z$/.test(clock.now)) return;
      const now = new Date(Date.parse(clock.now) + performance.now() - shownAt);
      showClock(now.toISOString());
      showWaits(now.getTime());
    }, 1000);
  }
})();
