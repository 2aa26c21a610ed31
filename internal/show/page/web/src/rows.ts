import type { Data } from "./data";

// A Row is a line of the timeline: an event, a run of ticks, a passage of time between the events
// of a part of the run, a note on a violation, or a process that waits at the end.
export interface Row {
  kind: "event" | "ticks" | "gap" | "note" | "stuck";
  step: number; // the last step of the row; of a gap or a note that of the row before
  first: number; // the first step of the row
  text: string;
  lane: number;
}

// A Layout is the rows of a view.
export interface Layout {
  rows: Row[];
  stops: number[]; // the indexes of the rows that can be selected, in order
}

// Places are where the rows of a layout are.
export interface Places {
  tops: number[]; // and the end of the last row
  height: number;
}

const shownPause = 50e6; // the shortest passage of time that has a row, in nanoseconds

export function layOut(data: Data, full: boolean): Layout {
  const rows: Row[] = [];
  const add = (kind: Row["kind"], first: number, step: number, text: string, lane: number) => {
    rows.push({ kind, first, step, text, lane });
  };
  const steps = full ? data.steps.map((_, i) => i) : data.decisive;
  const at = (i: number) => data.steps[i]?.at ?? 0;
  const broken = new Set(data.violations.map((v) => v.step));
  let last = -1;
  for (let n = 0; n < steps.length; n++) {
    const i = steps[n]!;
    const step = data.steps[i]!;
    const passed = at(i) - (last < 0 ? 0 : at(last));
    if (step.kind === "tick" && !broken.has(i)) {
      let end = i;
      while (n + 1 < steps.length && steps[n + 1] === end + 1 &&
        data.steps[end + 1]!.kind === "tick" && !broken.has(end + 1)) {
        n++;
        end++;
      }
      add("ticks", i, end, `${duration(at(end) - (last < 0 ? 0 : at(last)))} passes`, -1);
      last = end;
      continue;
    }
    if (!full && passed >= shownPause && last >= 0) {
      add("gap", last, last, `${duration(passed)} later`, -1);
    }
    add("event", i, i, step.text, step.lane);
    last = i;
    for (const v of data.violations) {
      if (v.step === i) add("note", i, i, `${v.property}: ${v.detail || v.reason}`, -1);
    }
  }
  if (data.stuck.length > 0) {
    const end = data.steps.length - 1;
    if (!full && at(end) - at(last) >= shownPause) {
      add("gap", last, last, `${duration(at(end) - at(last))} later`, -1);
    }
    for (const s of data.stuck) add("stuck", end, end, s.text, s.lane);
  }
  const stops = rows.flatMap((r, i) => r.kind === "gap" || r.kind === "note" ? [] : [i]);
  return { rows, stops };
}

// placeRows places rows of the given heights below each other.
export function placeRows(heights: number[]): Places {
  const tops = [0];
  for (const h of heights) tops.push(tops.at(-1)! + h);
  return { tops, height: tops.at(-1)! };
}

// stopAt returns the index in stops of the row that shows a step, or else of the last one before.
export function stopAt(layout: Layout, step: number): number {
  let low = 0;
  let high = layout.stops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (layout.rows[layout.stops[middle]!]!.first <= step) low = middle;
    else high = middle - 1;
  }
  return low;
}

// shows reports whether a row shows a step itself.
export function shows(layout: Layout, step: number): boolean {
  const row = layout.rows[layout.stops[stopAt(layout, step)] ?? -1];
  return row !== undefined && row.first <= step && step <= row.step;
}

// rowAt returns the index of the row at a height.
export function rowAt({ tops }: Places, height: number): number {
  let low = 0;
  let high = tops.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle]! <= height) low = middle;
    else high = middle - 1;
  }
  return low;
}

// duration renders a length of time in nanoseconds.
export function duration(ns: number): string {
  const seconds = ns / 1e9;
  if (seconds >= 2 * 3600) return `${Math.round(seconds / 3600)} hours`;
  if (seconds >= 120) return `${Math.round(seconds / 60)} minutes`;
  if (seconds >= 0.9995 || seconds === 0) return `${seconds.toFixed(1).replace(/\.0$/, "")} s`;
  return `${Math.round(ns / 1e6)} ms`;
}

// clock renders virtual time.
export function clock(ns: number): string {
  const seconds = Math.floor(ns / 1e9);
  if (seconds >= 3600) {
    return `${Math.floor(seconds / 3600)}h${Math.floor(seconds / 60) % 60}m${seconds % 60}s`;
  }
  return `${seconds}.${String(Math.floor(ns / 1e6) % 1000).padStart(3, "0")}s`;
}
