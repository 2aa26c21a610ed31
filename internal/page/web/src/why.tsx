import type { JSX } from "preact";
import type { Data } from "./data";
import { rich } from "./timeline";

// linked makes links of the numbers of events in a text.
function linked(text: string, step: number, goTo: (step: number) => void):
(string | JSX.Element)[] {
  const parts = text.split(/(\bevents? \d+|(?<=\bevents \d+ and )\d+)/);
  return parts.flatMap((part, n) => {
    if (n % 2 === 0) return rich(part, "");
    const number = part.replace(/\D+/, "");
    return [<a href={`#step=${number}`} class={Number(number) === step ? "here" : ""}
      onClick={(e) => {
        e.preventDefault();
        goTo(Number(number));
      }}>{part}</a>];
  });
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
      </>}
      {others.map((v) => <details>
        <summary>also <b>{v.property}</b></summary>
        <p>{linked(v.why, step, goTo)}</p>
      </details>)}
    </section>
  );
}
