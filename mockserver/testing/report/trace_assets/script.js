"use strict";
(() => {
  const data = JSON.parse(document.getElementById("trace").textContent);
  const last = data.changes.length - 1;
  const find = (selector) => document.querySelector(selector);
  const at = document.getElementById("at"), objects = find(".objects"), label = find(".label"), output = find("output");
  const steps = [...document.querySelectorAll(".steps-of-run > li")]; // of a step n at n - 1
  const list = find(".steps-of-run");
  const failures = steps.map((step) => step.querySelector("summary .badge:not(.ok)") !== null);
  const again = find("[aria-labelledby=again] pre");
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const own = { configurable: true, enumerable: true, writable: true };
  const titles = ["status", "name", "event", "text"];

  const labelOf = (position) =>
    position ? [...document.querySelectorAll(`#step-${position} :is([id^=call] > summary, .command)`)].map((line) => line.textContent).join("; ") : "before the first call";

  function element(name, content, ...children) {
    const node = document.createElement(name);
    if (content) node.textContent = content;
    node.append(...children);
    return node;
  }

  // The world after a step, and the path of each member that the step has changed.
  function worldAt(position) {
    const world = JSON.parse(JSON.stringify(data.start));
    const changed = new Map();
    for (let step = 1; step <= position; step++) {
      for (const [number, ...value] of data.changes[step]) {
        const path = data.paths[number];
        const inner = path.slice(0, -1).reduce((node, key) => node[key], world), key = path[path.length - 1];
        if (step === position) changed.set(JSON.stringify(path), inner[key]);
        if (!value.length) delete inner[key];
        // Not by assignment, which would set the prototype for an id such as __proto__.
        else Object.defineProperty(inner, key, { ...own, value: JSON.parse(JSON.stringify(value[0])) });
      }
    }
    return [world, changed];
  }

  // The value that a member had before the step, with its place in a field if it is a part of one.
  function formerly(key, depth, changed) {
    const place = JSON.parse(key).slice(depth).join("."), former = changed.get(key);
    if (former === undefined) return place && `, ${place} is new`;
    return `, ${place && `${place} `}was ${text(former)}`;
  }

  function record(path, id, fields, changed) {
    const list = element("dl");
    list.className = "facts";
    const isNew = changed.has(JSON.stringify(path));
    const inside = [...changed.keys()].filter((key) => key.startsWith(JSON.stringify(path).slice(0, -1) + ","));
    for (const [name, value] of Object.entries(fields)) {
      const prefix = JSON.stringify([...path, name]).slice(0, -1);
      const touched = inside.filter((key) => key === prefix + "]" || key.startsWith(prefix + ","));
      if ((value === null || text(value) === "[]" || text(value) === "{}") && !touched.length) continue;
      if (inside.length && !isNew && !touched.length && !all.checked) continue;
      const row = [element("dt", name), element("dd", "", element("bdi", text(value)))];
      if (touched.length && !isNew) {
        row[1].className = "new";
        row[1].append(" ", element("ins", `changed${touched.map((key) => formerly(key, path.length + 1, changed)).join("")}`));
      }
      list.append(...row);
    }
    const title = titles.map((name) => fields[name]).find((value) => typeof value === "string") || "";
    const summary = element("summary", "", element("b", id), " ", element("bdi", title.slice(0, 80)));
    if (isNew || inside.length) summary.append(" ", element("ins", isNew ? "new" : "changed"));
    const details = element("details", "", summary, list);
    details.open = isNew || inside.length > 0;
    return details;
  }

  function group(title, records) {
    const summary = element("summary", "", element("h3", `${title} (${records.length})`));
    const section = element("section", "", element("details", "", summary, ...records));
    section.firstChild.open = section.querySelector("ins") !== null;
    return section;
  }

  // Groups in which the step has changed something come first.
  const isOpen = (section) => section.querySelector("ins") !== null;

  function groups(world, changed) {
    const sections = [];
    const table = (title, path, records) => {
      const rows = Object.entries(records).map(([id, fields]) => record([...path, id], id, fields, changed));
      if (rows.length) sections.push(group(title, rows));
    };
    for (const [id, tenant] of Object.entries(world.tenants)) {
      const settings = Object.fromEntries(Object.entries(tenant).filter(([, value]) => !isObject(value)));
      const changedSettings = new Map([...changed].filter(([key]) => JSON.parse(key).length === 3));
      sections.push(group(`tenant ${id}`, [record(["tenants", id], id, settings, changedSettings)]));
      for (const [name, records] of Object.entries(tenant)) if (isObject(records)) table(name, ["tenants", id, name], records);
    }
    table("rules", ["rules"], world.rules);
    table("deliveries", ["deliveries"], world.deliveries);
    return [...sections.filter(isOpen), ...sections.filter((section) => !isOpen(section))];
  }

  function show(position) {
    const [world, changed] = worldAt(position);
    at.value = position;
    at.setAttribute("aria-valuetext", `${position}: ${labelOf(position)}`);
    output.textContent = `${position} of ${last}`;
    label.textContent = labelOf(position);
    find(".moment time").textContent = world.clock.now;
    objects.replaceChildren(...groups(world, changed));
    for (const item of document.querySelectorAll("[aria-current]")) item.removeAttribute("aria-current");
    document.getElementById(`step-${position}`)?.setAttribute("aria-current", "step");
    if (again) again.textContent = `mockserver open ${fileName()} --at ${data.calls[position] || "CALL"} --port 5055`;
  }

  function fileName() {
    const name = location.protocol === "file:" ? decodeURIComponent(location.pathname.split("/").pop()) : "FILE";
    return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
  }

  // The list: equal steps in a row are one, which opens; what is searched or jumped to is in sight.

  function sameness(step) {
    const call = step.children.length === 1 && step.querySelectorAll("details").length === 1 && step.querySelector("summary");
    if (!call) return step;
    return call.textContent.replace(call.querySelector("time").textContent, "").replace(/#\d+ /, "");
  }

  function fold() {
    for (let from = 0, to; from < steps.length; from = to) {
      for (to = from + 1; to < steps.length && sameness(steps[to]) === sameness(steps[from]); ) to++;
      if (to - from < 3) continue;
      const inner = element("ol", ""), first = steps[from].querySelector("summary");
      inner.className = "steps-of-run";
      const summary = element("summary", `${sameness(steps[from]).trim()} ×${to - from} `, element("time", first.querySelector("time").textContent));
      const row = element("li", "", element("details", "", summary, inner));
      row.className = "fold";
      steps[from].before(row);
      inner.append(...steps.slice(from, to));
    }
  }

  function reveal(node, block) {
    for (let outer = node.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    node.scrollIntoView({ block });
  }

  function go(position) {
    show(position);
    if (position) reveal(steps[position - 1], "nearest");
  }

  function filter(words, isFailuresOnly) {
    const wanted = words.trim().toLowerCase();
    steps.forEach((step, place) => {
      step.hidden = (isFailuresOnly && !failures[place]) || !step.textContent.toLowerCase().includes(wanted);
    });
    for (const row of document.querySelectorAll(".fold")) {
      row.hidden = row.querySelector("ol > li:not([hidden])") === null;
      row.firstChild.open = !row.hidden && (wanted !== "" || isFailuresOnly);
    }
  }

  function button(words, react) {
    const node = element("button", words);
    node.type = "button";
    node.className = "plain-button";
    node.addEventListener("click", () => react(node));
    return node;
  }

  function field(type, words) {
    const input = element("input", ""), own = element("label", "");
    input.type = type;
    own.append(...(type === "checkbox" ? [input, words] : [`${words} `, input]));
    return [input, own];
  }

  function toolbar() {
    const [search, searchLabel] = field("search", "Search");
    const [only, onlyLabel] = field("checkbox", " Only failures");
    for (const input of [search, only]) input.addEventListener("input", () => filter(search.value, only.checked));
    const next = button("Next failure", () => {
      const here = Number(at.value), place = failures.findIndex((fails, index) => fails && index + 1 > here);
      const found = place < 0 ? failures.indexOf(true) : place;
      if (found >= 0) go(found + 1);
    });
    next.disabled = !failures.includes(true);
    const tools = element("p", "", searchLabel, onlyLabel, next, element("span", "j and k: next and previous step"));
    tools.className = "tools quiet";
    list.before(tools);
    const report = find("[aria-labelledby=why] details:last-of-type pre");
    if (report) {
      report.closest("details").before(
        button("Copy the report", async (node) => {
          const words = await navigator.clipboard.writeText(`${find(".told").innerText}\n\n${report.textContent}`).then(() => "Copied", () => "Not copied: select the text");
          node.textContent = words;
        }),
      );
    }
  }

  function fromAddress() {
    const match = /^#(call|step)-(\d+)$/.exec(location.hash);
    const position = !match ? last : match[1] === "step" ? Number(match[2]) : data.calls.findIndex((call) => call >= Number(match[2]));
    show(position < 0 || position > last ? last : position);
    const target = match && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.tagName === "DETAILS") target.open = true;
    // Once the layout is that of the page with what the script has added.
    requestAnimationFrame(() => reveal(target, "start"));
  }

  const [all, allLabel] = field("checkbox", " All fields of what has changed");
  allLabel.className = "tick";
  all.addEventListener("input", () => show(Number(at.value)));
  find(".slider").append(allLabel);
  // Side by side the list follows the slider; one below the other it would push the slider off the screen.
  const move = (position) => (matchMedia("(min-width: 64rem)").matches ? go(position) : show(position));
  at.addEventListener("input", () => move(Number(at.value)));
  document.getElementById("back").addEventListener("click", () => move(Math.max(0, at.value - 1)));
  document.getElementById("forward").addEventListener("click", () => move(Math.min(last, Number(at.value) + 1)));
  steps.forEach((step, place) => step.addEventListener("click", () => show(place + 1)));
  document.addEventListener("keydown", (event) => {
    if (!/^[jk]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("[type=search]")) return;
    go(Math.min(last, Math.max(0, Number(at.value) + (event.key === "j" ? 1 : -1))));
  });
  toolbar();
  fold();
  window.addEventListener("hashchange", fromAddress);
  find(".slider").hidden = false;
  fromAddress();
})();
