import type { JSX } from "preact";
import type { Data } from "./data";
import { grants } from "./data";
import type { Row } from "./rows";

export const quiet = new Set(["send", "serve", "logged", "applied", "session-state", "healed",
  "session-opened", "finished"]);
const loud = new Set(["enter", "leading", "crashed", "lost"]);

// look returns the class of a row, which decides how its text looks.
export function look(data: Data, row: Row): string {
  if (row.kind !== "event") return row.kind;
  const step = data.steps[row.step]!;
  if (step.kind === "fault") return "fault";
  if (loud.has(step.kind) || grants(step)) return "loud";
  return quiet.has(step.kind) ? "quiet" : "";
}

// wordsOf returns the parts of a row's text.
export function wordsOf(data: Data, row: Row, needle: string): (string | JSX.Element)[] {
  const words = rich(row.text, needle);
  const source = row.kind === "event" && data.steps[row.step]!.source;
  return source ? [...words, "  ", <code class="source">{source}</code>] : words;
}

// known has the heights of texts in a column.
const known = { column: "", heights: new Map<string, number>() };

// heightsOf returns the heights that rows need if their texts have the width. The browser breaks
// the lines: it lays out each distinct text once, outside the visible page.
export function heightsOf(data: Data, rows: Row[], width: number, narrow: boolean): number[] {
  const column = `${width} ${narrow}`;
  if (known.column !== column) {
    known.column = column;
    known.heights.clear();
  }
  const keys = rows.map((row) =>
    [look(data, row), row.text, data.steps[row.step]?.source ?? ""].join("\n"));
  const box = document.createElement("div");
  box.className = narrow ? "measure narrow" : "measure";
  box.style.width = `${width}px`;
  const measured = new Map<string, HTMLElement>();
  rows.forEach((row, n) => {
    const key = keys[n]!;
    if (known.heights.has(key) || measured.has(key)) return;
    const line = element("div", `row ${look(data, row)}`,
      element("span", "text", element("span", "", ...wordsOf(data, row, "").map((word) =>
        typeof word === "string" ? word
          : element(word.type as string, word.props.class, word.props.children)))));
    measured.set(key, line);
    box.append(line);
  });
  document.body.append(box);
  for (const [key, line] of measured) {
    known.heights.set(key, Math.ceil(line.getBoundingClientRect().height));
  }
  box.remove();
  return keys.map((key) => known.heights.get(key)!);
}

// element makes an element without Preact, which cannot render while it renders.
function element(tag: string, look: string, ...children: (string | Node)[]): HTMLElement {
  const made = document.createElement(tag);
  made.className = look;
  made.append(...children);
  return made;
}

// rich colors the names of processes and of their znodes in a text, and marks what is searched.
export function rich(text: string, needle: string): (string | JSX.Element)[] {
  const parts: (string | JSX.Element)[] = [];
  const named = (t: string) => {
    t.split(/(\bc\d+(?:#\d+)?\b)/).forEach((part) => {
      const number = /^c(\d+)/.exec(part)?.[1];
      if (number !== undefined && /^c\d+(#\d+)?$/.test(part)) {
        const process = `p${(Number(number) - 1) % 6 + 1}`;
        const kind = part.includes("#") ? "node" : "name";
        parts.push(<span class={`${kind} ${process}`}>{part}</span>);
      } else if (part !== "") parts.push(part);
    });
  };
  const lower = text.toLowerCase();
  let at = 0;
  for (let hit = needle ? lower.indexOf(needle) : -1; hit >= 0; hit = lower.indexOf(needle, at)) {
    named(text.slice(at, hit));
    parts.push(<mark>{text.slice(hit, hit + needle.length)}</mark>);
    at = hit + needle.length;
  }
  named(text.slice(at));
  return parts;
}
