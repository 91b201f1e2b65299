"use strict";
(() => {
  const data = JSON.parse(document.getElementById("trace").textContent);
  const last = data.changes.length - 1;
  const find = (selector) => document.querySelector(selector);
  const at = document.getElementById("at"), objects = find(".objects"), label = find(".label"), output = find("output");
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const own = { configurable: true, enumerable: true, writable: true };
  const titles = ["status", "name", "event", "text"];

  const labelOf = (position) =>
    position ? [...document.querySelectorAll(`#step-${position} :is(summary, .command)`)].map((line) => line.textContent).join("; ") : "before the first call";

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

  function record(path, id, fields, changed) {
    const list = element("dl");
    list.className = "facts";
    const isNew = changed.has(JSON.stringify(path));
    const inside = [...changed.keys()].filter((key) => key.startsWith(JSON.stringify(path).slice(0, -1) + ","));
    for (const [name, value] of Object.entries(fields)) {
      const prefix = JSON.stringify([...path, name]).slice(0, -1);
      const was = inside.find((key) => key === prefix + "]" || key.startsWith(prefix + ","));
      if ((value === null || text(value) === "[]" || text(value) === "{}") && !was) continue;
      const row = [element("dt", name), element("dd", text(value))];
      if (was && !isNew) {
        const former = changed.get(was);
        row[1].className = "new";
        row[1].append(" ", element("ins", former === undefined ? "changed" : `changed, was ${text(former)}`));
      }
      list.append(...row);
    }
    const title = titles.map((name) => fields[name]).find((value) => typeof value === "string") || "";
    const summary = element("summary", "", element("b", id), ` ${title.slice(0, 80)}`);
    if (isNew || inside.length) summary.append(" ", element("ins", isNew ? "new" : "changed"));
    const details = element("details", "", summary, list);
    details.open = isNew || inside.length > 0;
    return details;
  }

  function group(title, records) {
    return element("section", "", element("h3", `${title} (${records.length})`), ...records);
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
  }

  function fromAddress() {
    const match = /^#(call|step)-(\d+)$/.exec(location.hash);
    const position = !match ? last : match[1] === "step" ? Number(match[2]) : data.calls.findIndex((call) => call >= Number(match[2]));
    show(position < 0 || position > last ? last : position);
  }

  at.addEventListener("input", () => show(Number(at.value)));
  document.getElementById("back").addEventListener("click", () => show(Math.max(0, at.value - 1)));
  document.getElementById("forward").addEventListener("click", () => show(Math.min(last, Number(at.value) + 1)));
  for (const item of document.querySelectorAll(".steps-of-run details"))
    item.addEventListener("toggle", () => item.open && show(data.calls.findIndex((call) => call >= Number(item.id.slice(5)))));
  window.addEventListener("hashchange", fromAddress);
  find(".slider").hidden = false;
  find(".static").hidden = true;
  fromAddress();
})();
