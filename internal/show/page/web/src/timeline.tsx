import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Data } from "./data";
import { grants } from "./data";
import type { Layout, Row } from "./rows";
import { clock, rowAt, shows, stopAt } from "./rows";
import { hue } from "./transport";

const overscan = 300; // pixels drawn above and below what is visible

// A Shape is a part of the drawing, with the heights between which it lies.
interface Shape { top: number; bottom: number; draw: JSX.Element }

// Timeline shows the rows of a layout beside the lanes. It renders only what is near the visible
// part, so that long runs scroll smoothly.
export function Timeline({ data, layout, current, since, matches, needle, narrow, select }: {
  data: Data; layout: Layout; current: number; since?: number; matches: number[];
  needle: string; narrow: boolean; select: (step: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const lane = narrow ? Math.max(15, Math.min(26, 110 / data.lanes.length))
    : Math.max(20, Math.min(64, 320 / data.lanes.length));
  const margin = narrow ? 50 : 116;
  const x = (n: number) => margin + lane * (n + 0.5);
  const right = margin + lane * data.lanes.length + (narrow ? 6 : 12);

  // A scroll event sets the view only if the drawn part no longer covers what is visible.
  const look = () => {
    if (!box.current) return; // An observer may report once more after the end.
    const { scrollTop: top, clientHeight: height } = box.current;
    setView((old) => Math.abs(old.top - top) < overscan / 2 && old.height === height ? old
      : { top, height });
  };
  useLayoutEffect(look, [layout]);
  useEffect(() => {
    const observer = new ResizeObserver(look);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const row = layout.rows[current];
    const b = box.current!;
    if (!row) return;
    const room = b.clientHeight - head;
    if (row.top < b.scrollTop + row.height || row.top + 2 * row.height > b.scrollTop + room) {
      b.scrollTop = row.top - room / 2;
      look();
    }
  }, [layout, current, narrow]);

  const shapes = useMemo(() => draw(data, layout, x, lane), [data, layout, lane, margin]);
  const from = view.top - overscan;
  const to = view.top + view.height + overscan;
  const first = rowAt(layout.rows, from);
  const last = rowAt(layout.rows, to);
  const rows = layout.rows.slice(first, last + 1);
  const found = useMemo(() => new Set(matches.map((n) => layout.stops[n])), [matches, layout]);
  const broken = useMemo(() => new Set(data.violations.map((v) => v.step)), [data]);
  const y0 = Math.max(0, from);
  const y1 = Math.min(layout.height, to);

  return (
    <section class="timeline" ref={box} onScroll={look} aria-label="Timeline" tabIndex={-1}>
      <div class={lane < 25 ? "heads tight" : "heads"} style={{ height: `${head}px` }}>
        {data.lanes.map((l, n) =>
          <span class={`head ${l.kind} ${hue(data, n)}`} style={{ left: `${x(n)}px` }}>
            {l.name}
          </span>)}
      </div>
      <div class="rows" style={{ height: `${layout.height + 24}px` }} role="list">
        {rows.map((row, n) => <RowLine key={first + n} data={data} row={row} right={right}
          time={showsTime(data, layout, first + n)} here={first + n === current}
          found={found.has(first + n)} fresh={since !== undefined && row.step >= since}
          needle={needle}
          broken={row.kind === "note" || row.kind === "stuck" ||
            row.kind === "event" && broken.has(row.step)} select={select} />)}
        <svg width={right} height={Math.max(0, y1 - y0)} style={{ top: `${y0}px` }}
          viewBox={`0 ${y0} ${right} ${Math.max(0, y1 - y0)}`} aria-hidden="true">
          {shapes.filter((s) => s.bottom >= y0 && s.top <= y1).map((s) => s.draw)}
        </svg>
      </div>
    </section>
  );
}

const head = 36; // the height of the names of the lanes

// showsTime reports whether a row shows its time: if that differs from the row before.
function showsTime(data: Data, layout: Layout, n: number): boolean {
  const row = layout.rows[n]!;
  if (row.kind === "gap" || row.kind === "note") return false;
  for (let m = n - 1; m >= 0; m--) {
    const before = layout.rows[m]!;
    if (before.kind === "gap" || before.kind === "note") continue;
    return clock(data.steps[before.step]!.at ?? 0) !== clock(data.steps[row.step]!.at ?? 0);
  }
  return true;
}

const quiet = new Set(["send", "serve", "logged", "applied", "session-state", "healed",
  "session-opened", "finished"]);
const loud = new Set(["enter", "leading", "crashed", "lost"]);

// rendered counts the renderings of rows. Tests read it: a row that stays on the screen while the
// reader scrolls is not rendered again.
export const rendered = { rows: 0 };

const RowLine = memo(function RowLine({
  data, row, right, time, here, found, fresh, needle, broken, select,
}: {
  data: Data; row: Row; right: number; time: boolean; here: boolean; found: boolean;
  fresh: boolean; needle: string; broken: boolean; select: (step: number) => void;
}) {
  rendered.rows++;
  const step = data.steps[row.step];
  const kind = step?.kind ?? "";
  const of = row.kind !== "event" ? row.kind
    : kind === "fault" ? "fault"
      : loud.has(kind) || step && grants(step) ? "loud"
        : quiet.has(kind) ? "quiet" : "";
  const selectable = row.kind !== "gap" && row.kind !== "note";
  return (
    <div role="listitem" aria-current={here ? "step" : undefined}
      class={["row", of, here && "here", found && "found", fresh && "fresh", broken && "broken"]
        .filter(Boolean).join(" ")}
      style={{ top: `${row.top}px`, height: `${row.height}px` }}
      data-step={selectable ? row.step : undefined} title={row.text}
      onClick={() => select(row.step)}>
      {selectable && <span class="number">{row.kind === "stuck" ? "end"
        : row.first < row.step ? `…${row.step}` : row.step}</span>}
      {time && <time>{clock(step?.at ?? 0)}</time>}
      <span class="text" style={{ marginLeft: `${right}px` }}>
        <span>{rich(row.text, needle)}
          {row.kind === "event" && step?.source && <code class="source">{step.source}</code>}</span>
      </span>
    </div>
  );
});

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

// draw returns the lanes, bars, messages and marks of a layout.
function draw(data: Data, layout: Layout, x: (lane: number) => number, lane: number): Shape[] {
  const shapes: Shape[] = [];
  const center = (step: number) => {
    const row = layout.rows[layout.stops[stopAt(layout, step)]!]!;
    return row.top + row.height / 2;
  };
  // edge returns the height of a step, or of the border between the rows before and after it.
  const edge = (step: number) => {
    if (step < 0) return layout.height;
    if (shows(layout, step)) return center(step);
    const stop = stopAt(layout, step);
    const row = layout.rows[layout.stops[stop]!]!;
    if (row.first > step) return 0;
    const next = layout.rows[layout.stops[stop + 1] ?? -1];
    return next ? (row.top + row.height + next.top) / 2 : layout.height;
  };
  if (layout.stops.length === 0) return shapes;

  data.lanes.forEach((l, n) => {
    if (l.kind === "process") return;
    shapes.push({ top: 0, bottom: layout.height, draw:
      <line class="lane" x1={x(n)} x2={x(n)} y1={0} y2={layout.height} /> });
  });

  const wide = Math.min(10, lane * 0.4);
  const widths: Record<string, number> = {
    alive: 1, session: 2, waits: wide * 0.6, holds: wide, lost: wide, inside: wide,
    paused: wide + 6, disconnected: 2,
  };
  const order = Object.keys(widths);
  const bars = data.bars.filter((b) => b.kind in widths)
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  for (const b of bars) {
    const top = edge(b.from);
    const bottom = edge(b.to);
    if (bottom <= top) continue;
    const beside = b.kind === "disconnected" ? wide / 2 + 4 : 0;
    shapes.push({ top, bottom, draw:
      bar(b.kind, x(b.lane) + beside, top, bottom, widths[b.kind]!, hue(data, b.lane)) });
  }

  for (const a of data.arrows) {
    const start = shows(layout, a.from);
    const end = a.to >= 0 && shows(layout, a.to);
    if (!start && !end) continue;
    const source = data.steps[a.from]!.lane;
    if (source === a.lane) continue;
    const y1 = center(start ? a.from : a.to);
    const y2 = center(end ? a.to : a.from);
    const lost = a.to < 0;
    const x1 = x(source);
    const x2 = lost ? x(a.lane) - Math.sign(x(a.lane) - x1) * lane / 2 : x(a.lane);
    const process = a.kind === "request" ? source : a.lane;
    shapes.push({ top: Math.min(y1, y2) - 8, bottom: Math.max(y1, y2) + 8, draw:
      arrow(a.kind, lost, x1, y1, x2, y2, hue(data, process)) });
  }

  const broken = new Set(data.violations.map((v) => v.step));
  for (const n of layout.stops) {
    const row = layout.rows[n]!;
    if (row.lane < 0) continue;
    const cx = x(row.lane);
    const cy = row.top + row.height / 2;
    const kind = row.kind === "stuck" ? "stuck" : data.steps[row.step]!.kind;
    const violated = row.kind === "stuck" || broken.has(row.step);
    const color = hue(data, row.lane);
    shapes.push({ top: row.top, bottom: row.top + row.height, draw: <g class={`dot ${color}`}>
      {violated && <circle class="ring" cx={cx} cy={cy} r={9} />}
      {kind === "fault" || kind === "crashed"
        ? <path class="bolt" d={`M${cx} ${cy - 7}l7 7l-7 7l-7 -7z`} />
        : <circle class={kind} cx={cx} cy={cy} r={quiet.has(kind) ? 3 : 4.5} />}
    </g> });
  }
  return shapes;
}

// bar draws a bar.
export function bar(kind: string, x: number, top: number, bottom: number, width: number,
  color: string) {
  if (width <= 2) {
    return <line class={`bar ${kind} ${color}`} x1={x} x2={x} y1={top} y2={bottom}
      stroke-width={width} />;
  }
  return <rect class={`bar ${kind} ${color}`} x={x - width / 2} y={top} width={width}
    height={bottom - top} rx={Math.min(3, width / 2)} />;
}

// arrow draws a message.
export function arrow(kind: string, lost: boolean, x1: number, y1: number, x2: number, y2: number,
  color: string) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const dx = (x2 - x1) / length;
  const dy = (y2 - y1) / length;
  const gap = lost ? 0 : 7; // between the tip and the middle of the lane
  const tx = x2 - dx * gap;
  const ty = y2 - dy * gap;
  const head = `M${tx} ${ty}L${tx - dx * 7 - dy * 3.5} ${ty - dy * 7 + dx * 3.5}` +
    `L${tx - dx * 7 + dy * 3.5} ${ty - dy * 7 - dx * 3.5}z`;
  return <g class={`arrow ${kind} ${color} ${lost ? "gone" : ""}`}>
    <line x1={x1} y1={y1} x2={lost ? x2 : tx - dx * 5} y2={lost ? y2 : ty - dy * 5} />
    {lost ? <path class="cross" d={`M${x2 - 4} ${y2 - 4}l8 8m0 -8l-8 8`} />
      : <path class="tip" d={head} />}
  </g>;
}
