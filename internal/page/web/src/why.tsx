import type { JSX } from "preact";
import type { Data } from "./data";

// linked makes links of the numbers of events in a text.
function linked(text: string, step: number, goTo: (step: number) => void): (string | JSX.Element)[] {
  return text.split(/(\bevents? \d+)/).map((part) => {
    const number = /^events? (\d+)$/.exec(part)?.[1];
    if (number === undefined) return part;
    return <a href={`#step=${number}`} class={Number(number) === step ? "here" : ""}
      onClick={(e) => {
        e.preventDefault();
        goTo(Number(number));
      }}>{part}</a>;
  });
}

// WhyPanel says why each property is broken.
export function WhyPanel({ data, step, goTo }: {
  data: Data; step: number; goTo: (step: number) => void;
}) {
  const { about } = data;
  return (
    <section class="why" aria-label="Why">
      {data.violations.length === 0 && <p>The run violates no property.</p>}
      {data.violations.map((v, n) => <article>
        <h2>{n === 0 ? "Why" : v.property}</h2>
        {n === 0 && <p class="reason"><b>{v.property}</b>: {v.reason}</p>}
        <p>{linked(v.why, step, goTo)}</p>
      </article>)}
      {(about.deviations ?? []).length > 0 && <p class="meta">
        <b>Schedule</b> {about.deviations!.join(" · ")}
      </p>}
      {about.replay && <p class="meta"><b>Replay</b> <code>{about.replay}</code></p>}
    </section>
  );
}
