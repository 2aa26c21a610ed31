import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Data } from "./data";
import type { Layout, Places, Row } from "./rows";
import { clock, placeRows, rowAt, shows, stopAt } from "./rows";
import { heightsOf, look, quiet, wordsOf } from "./rowtext";
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
  const [view, setView] = useState({ top: 0, height: 800, width: 0 });
  const lane = narrow ? Math.max(15, Math.min(26, 110 / data.lanes.length))
    : Math.max(20, Math.min(64, 320 / data.lanes.length));
  const margin = narrow ? 50 : 116;
  const x = (n: number) => margin + lane * (n + 0.5);
  const right = margin + lane * data.lanes.length + (narrow ? 6 : 12);

  // Rows have places as soon as the width of the timeline is known.
  const places = useMemo(() => placeRows(view.width === 0 ? []
    : heightsOf(data, layout.rows, view.width - right, narrow)),
  [data, layout, right, view.width, narrow]);

  // A scroll event sets the view only if the drawn part no longer covers what is visible.
  const see = () => {
    if (!box.current) return; // An observer may report once more after the end.
    const { scrollTop: top, clientHeight: height, clientWidth: width } = box.current;
    setView((old) => Math.abs(old.top - top) < overscan / 2 && old.height === height &&
      old.width === width ? old : { top, height, width });
  };
  useLayoutEffect(see, [places]);
  useEffect(() => {
    const observer = new ResizeObserver(see);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const top = places.tops[current];
    const bottom = places.tops[current + 1];
    const b = box.current!;
    if (top === undefined || bottom === undefined) return;
    const room = b.clientHeight - head;
    if (2 * top - bottom < b.scrollTop || 2 * bottom - top > b.scrollTop + room) {
      b.scrollTop = top - room / 2;
      see();
    }
  }, [places, current, narrow]);

  const shapes = useMemo(() => draw(data, layout, places, x, lane), [data, places, lane, margin]);
  const from = view.top - overscan;
  const to = view.top + view.height + overscan;
  const first = rowAt(places, from);
  const rows = places.height === 0 ? [] : layout.rows.slice(first, rowAt(places, to) + 1);
  const found = useMemo(() => new Set(matches.map((n) => layout.stops[n])), [matches, layout]);
  const broken = useMemo(() => new Set(data.violations.map((v) => v.step)), [data]);
  const y0 = Math.max(0, from);
  const y1 = Math.min(places.height, to);

  return (
    <section class="timeline" ref={box} onScroll={see} aria-label="Timeline" tabIndex={-1}>
      <div class={lane < 25 ? "heads tight" : "heads"} style={{ height: `${head}px` }}>
        {data.lanes.map((l, n) =>
          <span class={`head ${l.kind} ${hue(data, n)}`} style={{ left: `${x(n)}px` }}>
            {l.name}
          </span>)}
      </div>
      <div class="rows" style={{ height: `${places.height + 24}px` }} role="list">
        {rows.map((row, n) => <RowLine key={first + n} data={data} row={row} left={right}
          top={places.tops[first + n]!} bottom={places.tops[first + n + 1]!}
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

// rendered counts the renderings of rows. Tests read it: a row that stays on the screen while the
// reader scrolls is not rendered again.
export const rendered = { rows: 0 };

const RowLine = memo(function RowLine({
  data, row, left, top, bottom, time, here, found, fresh, needle, broken, select,
}: {
  data: Data; row: Row; left: number; top: number; bottom: number; time: boolean; here: boolean;
  found: boolean; fresh: boolean; needle: string; broken: boolean; select: (step: number) => void;
}) {
  rendered.rows++;
  const selectable = row.kind !== "gap" && row.kind !== "note";
  return (
    <div role="listitem" aria-current={here ? "step" : undefined}
      class={["row", look(data, row), here && "here", found && "found", fresh && "fresh",
        broken && "broken"].filter(Boolean).join(" ")}
      style={{ top: `${top}px`, height: `${bottom - top}px` }}
      data-step={selectable ? row.step : undefined} onClick={() => select(row.step)}>
      {selectable && <span class="number">{row.kind === "stuck" ? "end"
        : row.first < row.step ? `…${row.step}` : row.step}</span>}
      {time && <time>{clock(data.steps[row.step]?.at ?? 0)}</time>}
      <span class="text" style={{ marginLeft: `${left}px` }}>
        <span>{wordsOf(data, row, needle)}</span>
      </span>
    </div>
  );
});

// draw returns the lanes, bars, messages and marks of a layout.
function draw(data: Data, layout: Layout, { tops, height }: Places, x: (lane: number) => number,
  lane: number): Shape[] {
  const shapes: Shape[] = [];
  const middle = (n: number) => (tops[n]! + tops[n + 1]!) / 2;
  const center = (step: number) => middle(layout.stops[stopAt(layout, step)]!);
  // edge returns the height of a step, or of the border between the rows before and after it.
  const edge = (step: number) => {
    if (step < 0) return height;
    if (shows(layout, step)) return center(step);
    const stop = stopAt(layout, step);
    const n = layout.stops[stop]!;
    if (layout.rows[n]!.first > step) return 0;
    const next = layout.stops[stop + 1];
    return next === undefined ? height : (tops[n + 1]! + tops[next]!) / 2;
  };
  if (layout.stops.length === 0 || height === 0) return shapes;

  data.lanes.forEach((l, n) => {
    if (l.kind === "process") return;
    shapes.push({ top: 0, bottom: height, draw:
      <line class="lane" x1={x(n)} x2={x(n)} y1={0} y2={height} /> });
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
    const cy = middle(n);
    const kind = row.kind === "stuck" ? "stuck" : data.steps[row.step]!.kind;
    const violated = row.kind === "stuck" || broken.has(row.step);
    const color = hue(data, row.lane);
    shapes.push({ top: tops[n]!, bottom: tops[n + 1]!, draw: <g class={`dot ${color}`}>
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
