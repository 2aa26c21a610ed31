"use strict";

const interval = 500; // milliseconds between two requests for the state

const byId = (id) => document.getElementById(id);

// fill replaces the rows of a table. A cell is a text, or a text with a class.
function fill(id, rows, left = 0) {
  const table = byId(id);
  const columns = table.tHead.rows[0].cells.length;
  const elements = rows.map((cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const [text, name] = Array.isArray(cell) ? cell : [cell, ""];
      const element = row.insertCell();
      element.textContent = text;
      element.className = name;
    }
    return row;
  });
  const note = left > 0 ? `${left} more` : rows.length === 0 ? "none" : "";
  if (note !== "") {
    const row = document.createElement("tr");
    const element = row.insertCell();
    element.colSpan = columns;
    element.className = "none";
    element.textContent = note;
    elements.push(row);
  }
  table.tBodies[0].replaceChildren(...elements);
}

// indented returns the name of a node, indented by its depth.
function indented(path) {
  if (path === "/") return path;
  const parts = path.split("/");
  return "\u2003".repeat(parts.length - 2) + "/" + parts.at(-1);
}

const time = (text) => {
  const at = new Date(text);
  return at.toLocaleTimeString("en-GB") + "." + String(at.getMilliseconds()).padStart(3, "0");
};

function show(state) {
  byId("summary").textContent = [`ZooKeeper ${state.version}`, `zxid ${state.zxid}`,
    `nodes: ${state.nodes}`, `sessions: ${state.sessions}`, `watches: ${state.watches}`].join(" · ");
  fill("servers", state.servers.map((s) => [s.server, s.address,
    [s.state, s.state === "down" || s.state === "looking" ? "failed" : ""], s.zxid,
    s.connections, [s.faults.join(", "), "fault"]]));
  fill("sessions", state.session_list.map((s) => [s.id, s.server || ["not connected", "fault"],
    `${s.timeout_ms} ms`, s.ephemerals]));
  fill("watches", state.watch_list.map((w) => [w.path, w.kind, w.session, w.server]));
  fill("nodes", state.node_list.map((n) => [indented(n.path), n.data, n.version, n.owner]),
    state.nodes - state.node_list.length);
  fill("requests", state.requests.map((r) => [time(r.at), r.server, r.session, r.request,
    [r.result || "ok", r.result ? "failed" : ""], `${r.took_ms.toFixed(2)} ms`]));
}

let shown = "";

async function update() {
  try {
    const response = await fetch("state");
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    byId("notice").textContent = "";
    if (text !== shown) {
      show(JSON.parse(text));
      shown = text;
    }
  } catch {
    byId("notice").textContent = "interlock serve does not answer.";
  }
}

async function run() {
  for (;;) {
    if (!document.hidden) await update();
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

run();
