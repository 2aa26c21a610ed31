import type { JSX } from "preact";
import type { Data, Likelihood } from "./data";
import { rich } from "./rowtext";

// linked makes links of the numbers of events in a text.
function linked(text: string, step: number, goTo: (step: number) => void):
(string | JSX.Element)[] {
  const parts = text.split(/(\bevents? \d+|(?<=\bevents \d+ and )\d+)/);
  return parts.flatMap((part, n) => {
    if (n % 2 === 0) return rich(part, "");
    return [<Link text={part} to={Number(part.replace(/\D+/, ""))} step={step} goTo={goTo} />];
  });
}

// Likely says how likely the violation was. The numbers of its steps link to their events.
function Likely({ likelihood, step, goTo }: {
  likelihood: Likelihood; step: number; goTo: (step: number) => void;
}) {
  const decisions = [likelihood.jump, likelihood.avoidable].filter((d) => d !== undefined);
  return <p class="likely">
    {likelihood.text.split(/(`[^`]*`|\bstep \d+)/).map((part) => {
      if (part.startsWith("`")) return <code>{rich(part.slice(1, -1), "")}</code>;
      const of = decisions.find((d) => part === `step ${d.number}`);
      return of ? <Link text={part} to={of.step} step={step} goTo={goTo} /> : part;
    })}
  </p>;
}

// Link leads to an event.
function Link({ text, to, step, goTo }: {
  text: string; to: number; step: number; goTo: (step: number) => void;
}) {
  return <a href={`#event=${to}`} class={to === step ? "here" : ""} onClick={(e) => {
    e.preventDefault();
    goTo(to);
  }}>{text}</a>;
}

// WhyPanel says why each property is broken.
export function WhyPanel({ data, step, goTo }: {
  data: Data; step: number; goTo: (step: number) => void;
}) {
  const [first, ...others] = data.violations;
  return (
    <section class="why" aria-label="Why">
      {!first && <p>The run violates no property.</p>}
      {first && <>
        <h2>Why</h2>
        <p class="reason"><b>{first.property}</b>: {first.reason}</p>
        <p>{linked(first.why, step, goTo)}</p>
        {data.likelihood && <Likely likelihood={data.likelihood} step={step} goTo={goTo} />}
      </>}
      {others.map((v) => <details>
        <summary>also <b>{v.property}</b></summary>
        <p>{linked(v.why, step, goTo)}</p>
      </details>)}
    </section>
  );
}
