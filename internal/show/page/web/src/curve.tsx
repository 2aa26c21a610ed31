import type { Data, Decision, Likelihood } from "./data";
import type { Layout } from "./rows";
import { stopAt } from "./rows";

// Curve draws the bug-probability curve under the slider: for each event, the share of random
// continuations from there that fail. The steps of the schedule that matter most are marked.
export function Curve({ likelihood, data, layout, goTo, goToStop }: {
  likelihood: Likelihood; data: Data; layout: Layout;
  goTo: (step: number) => void; goToStop: (stop: number) => void;
}) {
  const last = layout.stops.length - 1;
  const x = (step: number) => last > 0 ? (stopAt(layout, step) / last) * 100 : 0;
  const inside = likelihood.curve.map((p) => [x(p.step), 100 - 100 * p.probability]);
  // Before its first decision and after its end, nothing changes.
  const points = [[0, inside[0]![1]], ...inside, [100, inside.at(-1)![1]]];
  const line = points.map(([x, y], n) => `${n === 0 ? "M" : "L"}${x} ${y}`).join("");
  const name = "Probability of the violation by event";
  return (
    <div class="curve">
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={name}
        onClick={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          goToStop(Math.round(((e.clientX - box.left) / box.width) * last));
        }}>
        <title>{name}</title>
        <path class="area" d={`${line}V100H0z`} />
        <path class="line" d={line} />
      </svg>
      {likelihood.jump && <Mark kind="rise" at={x(likelihood.jump.step)} of={likelihood.jump}
        text="The violation becomes most likely here" data={data} goTo={goTo} />}
      {likelihood.avoidable && <Mark kind="avoidable" at={x(likelihood.avoidable.step)}
        of={likelihood.avoidable} data={data} goTo={goTo}
        text="The last step found where another choice avoids the violation" />}
    </div>
  );
}

function Mark({ kind, at, of, text, data, goTo }: {
  kind: string; at: number; of: Decision; text: string; data: Data; goTo: (step: number) => void;
}) {
  const name = `${text}: step ${of.number}, ${of.text}; event ${of.step}, ` +
    (data.steps[of.step]?.text ?? "");
  return <button class={`at ${kind}`} style={{ left: `${at}%` }} title={name} aria-label={name}
    onClick={() => goTo(of.step)} />;
}
