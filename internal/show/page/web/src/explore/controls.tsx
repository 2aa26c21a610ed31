import { clock } from "../rows";
import { rich } from "../rowtext";
import type { Choice, Path } from "./api";
import { pathOf } from "./api";
import type { Place } from "./branches";

// Actions are what a reader can do. Each but save leads to another state.
export interface Actions {
  choose(step: string): void;
  back(): void;
  forward(): void;
  run(): void;
  save(): void;
  go(path: Path): void;
}

// A Notice is the outcome of an action.
export interface Notice { text: string; command?: string; error?: boolean }

// steps returns a number of steps in words.
const steps = (n: number) => `${n} step${n === 1 ? "" : "s"}`;

// sorted returns the enabled steps as they are listed: the default first, and faults last.
export function sorted(enabled: Choice[]): Choice[] {
  const rank = (c: Choice) => c.default ? 0 : c.fault ? 3 : c.step === "fair" ? 2 : 1;
  return [...enabled].sort((a, b) => rank(a) - rank(b));
}

// Controls list the enabled steps at the end of the path, the branches, and the steps taken.
export function Controls({ place, event, busy, notice, actions }: {
  place: Place | null; event: number; busy: boolean; notice: Notice | null; actions: Actions;
}) {
  return (
    <section id="live" class="live" aria-label="Next step" aria-busy={busy}
      data-length={place?.state.length}>
      {place && <Where place={place} actions={actions} />}
      <p class={notice?.error ? "notice error" : "notice"} role="status">
        {notice?.text}{notice?.command && <code>{notice.command}</code>}
      </p>
      {place && <>
        {place.state.violations.map((v) => <p class="broken" title={v.signature}>
          violates {v.property}{v.out_of_contract && ", out of contract"}
        </p>)}
        <Earlier place={place} event={event} actions={actions} />
        <Choices place={place} actions={actions} />
        <Branches place={place} actions={actions} />
        <Taken place={place} actions={actions} />
      </>}
    </section>
  );
}

// Where says where the path has led, and has the buttons that need no list.
function Where({ place: { state, branch }, actions }: { place: Place; actions: Actions }) {
  const { length, deviations } = state;
  return <>
    <p class="where">
      <b>{steps(length)}</b>
      {` · ${clock(state.at_ns)} · ${deviations.length} deviation` +
        (deviations.length === 1 ? "" : "s")}
    </p>
    <div class="commands">
      <button class="back" onClick={actions.back} disabled={length === 0}
        title="Take the last step back (Backspace)">Back</button>
      <button class="forward" onClick={actions.forward} disabled={state.ended}
        title={`${branch.length > length ? "The next step of this branch" : "The default step"}` +
          " (Enter)"}>Forward</button>
      <button class="run" onClick={actions.run} disabled={state.ended}
        title="The default policy goes on to a violation or the end (r)">Run on</button>
      <button class="save" onClick={actions.save} title="Save the schedule (s)">Save</button>
    </div>
  </>;
}

// Earlier offers to go back to the step of the event that is shown, if that is not the last.
function Earlier({ place: { state }, event, actions }: {
  place: Place; event: number; actions: Actions;
}) {
  const decision = state.events[event]?.decision;
  if (decision === undefined || decision < 0 || event === state.events.length - 1) return null;
  return <button class="earlier" onClick={() => actions.go(pathOf(state, decision))}>
    Choose again at step {decision}, which led to event {event}
  </button>;
}

function Choices({ place: { state }, actions }: { place: Place; actions: Actions }) {
  const choices = sorted(state.enabled);
  const list = (title: string, from: number, part: Choice[]) => part.length > 0 && <>
    <h3>{title}</h3>
    <ol class="choices">
      {part.map((c, n) => <li key={c.step}>
        <button class={c.fault ? "choice fault" : "choice"} data-step={c.step}
          onClick={() => actions.choose(c.step)}>
          <b>{c.step}</b>
          {c.default && <span class="tag">default</span>}
          {from + n < 9 && <kbd>{from + n + 1}</kbd>}
          <span class="what">{rich(c.text, "")}</span>
        </button>
      </li>)}
    </ol>
  </>;
  if (state.ended) return <p class="none">The run has ended. Go back to choose another step.</p>;
  const faults = choices.filter((c) => c.fault);
  const others = choices.slice(0, choices.length - faults.length);
  return <>{list("Next step", 0, others)}{list("Faults", others.length, faults)}</>;
}

function Branches({ place: { branch, others }, actions }: { place: Place; actions: Actions }) {
  return <>
    <h3>Branches</h3>
    <ol class="branches">
      {[branch, ...others].map((path, n) => <li>
        <button class="jump" aria-current={n === 0 ? "true" : undefined}
          onClick={() => actions.go(path)}>
          {path.deviations.map((d) => `${d.index}: ${d.step}`).join(", ") || "the default policy"}
          {" "}<small>{steps(path.length)}</small>
        </button>
      </li>)}
    </ol>
  </>;
}

// Taken lists the steps of the path. Each leads back to the state before it.
function Taken({ place: { state, branch }, actions }: { place: Place; actions: Actions }) {
  const later = branch.length - state.length;
  return <>
    <h3>Steps taken</h3>
    <ol class="taken">
      {later > 0 && <li>
        <button class="jump" onClick={() => actions.go(branch)}>
          {later} more on this branch
        </button>
      </li>}
      {state.taken.toReversed().map((t) => <li key={t.index}>
        <button class={t.deviates ? "jump deviates" : "jump"} title="Choose again here"
          onClick={() => actions.go(pathOf(state, t.index))}>
          <span class="number">{t.index}</span>{t.step}
        </button>
      </li>)}
    </ol>
  </>;
}
