import { Curve } from "./curve";
import type { Data } from "./data";
import { grants } from "./data";
import type { Layout, Row } from "./rows";
import { clock } from "./rows";

const buttons = [
  { sign: "⇤", name: "First", key: "Home", to: () => 0 },
  { sign: "←", name: "Previous", key: "←", to: (stop: number) => stop - 1 },
  { sign: "→", name: "Next", key: "→", to: (stop: number) => stop + 1 },
  { sign: "⇥", name: "Last", key: "End", to: (_: number, last: number) => last },
];

// Transport moves through the events: buttons, a slider with marks, and the current event in words.
export function Transport({ data, layout, stop, row, goTo, goToStep }: {
  data: Data; layout: Layout; stop: number; row?: Row;
  goTo: (stop: number) => void; goToStep: (step: number) => void;
}) {
  const last = layout.stops.length - 1;
  const step = row ? data.steps[row.step] : undefined;
  const broken = new Set(data.violations.map((v) => v.step));
  const marks = layout.stops.flatMap((r, n) => {
    const at = layout.rows[r]!;
    const shown = data.steps[at.step]!;
    const mark = broken.has(at.step) && at.kind === "event" || at.kind === "stuck" ? "violation"
      : at.kind !== "event" ? ""
        : shown.kind === "fault" || shown.kind === "crashed" ? "fault"
          : grants(shown) ? "grant" : "";
    return mark === "" ? [] : [{ mark, x: last > 0 ? (n / last) * 100 : 0, lane: at.lane }];
  });
  return (
    <footer>
      <div class="buttons">
        {buttons.map(({ sign, name, key, to }) => {
          const target = Math.max(0, Math.min(to(stop, last), last));
          return <button onClick={() => goTo(target)} disabled={target === stop}
            aria-label={`${name} event`} title={`${name} (${key})`}>{sign}</button>;
        })}
      </div>
      <div class={data.likelihood ? "slide likely" : "slide"}>
        <div class="marks" aria-hidden="true">
          {marks.map((m) =>
            <i class={`mark ${m.mark} ${hue(data, m.lane)}`} style={{ left: `${m.x}%` }} />)}
        </div>
        <input type="range" min={0} max={Math.max(last, 0)} value={stop} aria-label="Event"
          aria-valuetext={row ? `${row.step}: ${row.text}` : ""}
          onInput={(e) => goTo(Number(e.currentTarget.value))} />
        {data.likelihood && <Curve likelihood={data.likelihood} data={data} layout={layout}
          goTo={goToStep} goToStop={goTo} />}
      </div>
      <p class="now" aria-live="polite">
        {row && <>
          <b>{row.kind === "stuck" ? "end" : row.step}</b>
          <time>{clock(step?.at ?? 0)}</time>
          <span>{row.text}</span>
        </>}
      </p>
    </footer>
  );
}

// hue returns the class of the color of a lane.
export function hue(data: Data, lane: number): string {
  const l = data.lanes[lane];
  return l?.kind === "process" ? process(l.number) : "";
}

// process returns the class of the color of a process.
export function process(number: number): string {
  return `p${(number - 1) % 6 + 1}`;
}
