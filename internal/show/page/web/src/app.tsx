import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { AboutPanel } from "./about";
import type { Data } from "./data";
import { layOut, shows, stopAt } from "./rows";
import { States } from "./state";
import type { Now } from "./statepanel";
import { StatePanel } from "./statepanel";
import { Timeline } from "./timeline";
import { Transport } from "./transport";
import { WhyPanel } from "./why";

interface Place { step: number; full: boolean }

// A Live page shows the end of a path that its reader chooses; see explore/explore.tsx.
export interface Live {
  path?: string; // of the data, as it is in links; undefined until they are those of a path
  since: number; // the first step of the last decision
  now?: Now; // what is known of the last step
  press(e: KeyboardEvent): boolean; // handles a key, or returns false
  controls(step: number): ComponentChildren; // shown at a step
}

// placeIn reads a link such as #event=12 or #event=12&full, or returns null.
function placeIn(data: Data, hash: string): Place | null {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const text = values.get("event");
  if (text === null || !/^\d+$/.test(text)) return null;
  const step = Math.min(Number(text), data.steps.length - 1);
  const hidden = !data.decisive.includes(step) && !(data.stuck.length > 0 &&
    step === data.steps.length - 1);
  return { step, full: values.has("full") || data.decisive.length === 0 || hidden };
}

// start returns where a reader begins: at the violation.
function start(data: Data): Place {
  const first = data.violations[0];
  const last = data.steps.length - 1;
  const step = data.stuck.length > 0 || !first || first.step < 0 ? last : first.step;
  return { step, full: data.decisive.length === 0 };
}

function useWidth(): number {
  const [width, setWidth] = useState(window.innerWidth);
  useEffect(() => {
    const changed = () => setWidth(window.innerWidth);
    window.addEventListener("resize", changed);
    return () => window.removeEventListener("resize", changed);
  }, []);
  return width;
}

type Theme = "auto" | "light" | "dark";
type Tab = "next" | "timeline" | "state" | "why";

const narrowWidth = 900; // below it the panels are tabs

export function App({ data, live }: { data: Data; live?: Live }) {
  const [place, setPlace] = useState<Place>(() => {
    const first = placeIn(data, location.hash) ?? start(data);
    return { ...first, full: first.full || live !== undefined };
  });
  const [shown, setShown] = useState({ data, path: live?.path });
  let { step, full } = place;
  if (shown.data !== data) { // The reader has chosen a step of the schedule.
    const linked = shown.path === undefined ? placeIn(data, location.hash) : null;
    step = linked?.step ?? data.steps.length - 1;
    setPlace({ step, full });
    setShown({ data, path: live?.path });
  }
  full ||= data.decisive.length === 0;
  const [query, setQuery] = useState("");
  const [theme, setTheme] = useState<Theme>("auto");
  const [tab, setTab] = useState<Tab>(live ? "next" : "timeline");
  const search = useRef<HTMLInputElement>(null);
  const narrow = useWidth() < narrowWidth;
  const complete = data.decisive.length === 0; // There is no decisive part.

  const layout = useMemo(() => layOut(data, full), [data, full]);
  const states = useMemo(() => new States(data), [data]);
  const state = useMemo(() => states.at(step), [states, step]);
  const stop = stopAt(layout, step);
  const row = layout.rows[layout.stops[stop] ?? -1];

  const goTo = useCallback((to: number) => setPlace((now) => ({
    step: to,
    full: now.full || !shows(layout, to),
  })), [layout]);
  const goToStop = useCallback((n: number) => {
    const bounded = Math.max(0, Math.min(n, layout.stops.length - 1));
    const target = layout.rows[layout.stops[bounded] ?? -1];
    if (target) setPlace((now) => ({ ...now, step: target.step }));
  }, [layout]);
  const move = useCallback((by: number) => setPlace((now) => {
    const stop = Math.max(0, Math.min(stopAt(layout, now.step) + by, layout.stops.length - 1));
    return { ...now, step: layout.rows[layout.stops[stop] ?? -1]?.step ?? now.step };
  }), [layout]);
  const setFull = useCallback((now: boolean) => {
    if (complete) return;
    setPlace((place) => {
      const other = layOut(data, now);
      const nearest = other.rows[other.stops[stopAt(other, place.step)] ?? -1];
      const stuck = data.stuck.length > 0 && place.step === data.steps.length - 1;
      return { step: now || stuck ? place.step : nearest?.step ?? place.step, full: now };
    });
  }, [data, complete]);

  // Matches are indexes of stops.
  const needle = query.trim().toLowerCase();
  const matches = useMemo(() => needle === "" ? [] : layout.stops.flatMap((r, n) => {
    const at = layout.rows[r]!;
    const source = at.kind === "event" ? data.steps[at.step]!.source ?? "" : "";
    return `${at.step} ${at.text} ${source}`.toLowerCase().includes(needle) ? [n] : [];
  }), [layout, needle]);
  const elsewhere = useMemo(() => needle === "" || full || matches.length > 0 ? 0
    : data.steps.filter((s) => s.text.toLowerCase().includes(needle)).length,
  [data, needle, full, matches]);
  const match = (forward: boolean) => {
    const next = forward
      ? matches.find((n) => n > stop) ?? matches[0]
      : matches.findLast((n) => n < stop) ?? matches.at(-1);
    if (next !== undefined) goToStop(next);
  };

  useEffect(() => {
    if (live && live.path === undefined) return;
    const path = live ? `${new URLSearchParams({ path: live.path! })}&` : "";
    const hash = `#${path}event=${step}${full && !complete ? "&full" : ""}`;
    if (location.hash !== hash) history.replaceState(null, "", hash);
  }, [step, full, complete, live?.path]);
  useEffect(() => {
    const changed = () => {
      if (live && new URLSearchParams(location.hash.slice(1)).get("path") !== live.path) return;
      const place = placeIn(data, location.hash);
      if (place) setPlace((now) => ({ step: place.step, full: now.full || place.full }));
    };
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, [data, live?.path]);
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);

  // A layout effect, because the next key may come before the page has been painted.
  useLayoutEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const inSearch = e.target === search.current;
      if (inSearch) {
        if (e.key === "Enter") match(!e.shiftKey);
        else if (e.key === "Escape") {
          setQuery("");
          search.current?.blur();
        } else return;
        e.preventDefault();
        return;
      }
      if (e.target instanceof HTMLInputElement && e.target.type !== "range" ||
        e.target instanceof HTMLTextAreaElement || e.target instanceof HTMLSelectElement) return;
      if (live?.press(e)) {
        e.preventDefault();
        return;
      }
      switch (e.key) {
        case "ArrowRight": case "ArrowDown": case "j": move(1); break;
        case "ArrowLeft": case "ArrowUp": case "k": move(-1); break;
        case "PageDown": move(10); break;
        case "PageUp": move(-10); break;
        case "Home": goToStop(0); break;
        case "End": goToStop(layout.stops.length - 1); break;
        case "f": setFull(!full); break;
        case "n": match(true); break;
        case "N": match(false); break;
        case "/": search.current?.focus(); search.current?.select(); break;
        default: return;
      }
      e.preventDefault();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  });

  const first = data.violations[0];
  const prefix = `${data.about.lock}, `; // The title shows it.
  const scenario = data.about.scenario.startsWith(prefix)
    ? data.about.scenario.slice(prefix.length) : data.about.scenario;
  const nextTheme: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
  const counted = needle === "" ? "" : matches.length === 0 ? "none"
    : matches.includes(stop) ? `${matches.indexOf(stop) + 1} of ${matches.length}`
      : `${matches.length}`;

  const panels = {
    timeline: <Timeline data={data} layout={layout} current={layout.stops[stop] ?? -1}
      since={live?.since} matches={matches} needle={needle} narrow={narrow} select={goTo} />,
    state: <StatePanel data={data} state={state} step={step}
      now={step === data.steps.length - 1 ? live?.now : undefined} />,
    why: <WhyPanel data={data} step={step} goTo={(to) => {
      goTo(to);
      setTab("timeline");
    }} />,
  };
  const about = <AboutPanel data={data} live={live !== undefined} />;
  const tabs: Tab[] = live ? ["next", "timeline", "state", "why"] : ["timeline", "state", "why"];

  return (
    <div class={`app${narrow ? " narrow" : ""}${live ? " exploring" : ""}`}>
      <header>
        <div class="title">
          <h1>{data.about.lock}</h1>
          {first
            ? <span class="badge violated">violates {first.property}</span>
            : <span class="badge">no violation</span>}
          {data.violations.length > 1 &&
            <span class="more" title={data.violations.map((v) => v.property).join(", ")}>
              and {data.violations.length - 1} more
            </span>}
        </div>
        <p class="scenario">{scenario}</p>
        <div class="tools">
          <label class="search">
            <span class="hidden">Search</span>
            <input ref={search} type="search" placeholder="Search" value={query} spellcheck={false}
              autocomplete="off" aria-keyshortcuts="/"
              onInput={(e) => setQuery(e.currentTarget.value)} />
            {needle === "" ? <kbd>/</kbd>
              : elsewhere > 0
                ? <button class="elsewhere" onClick={() => setFull(true)}>
                  {elsewhere} in full
                </button>
                : <output>{counted}</output>}
          </label>
          {!complete && <div class="switch" role="group" aria-label="Events shown">
            <button aria-pressed={!full} onClick={() => setFull(false)}>Decisive</button>
            <button aria-pressed={full} onClick={() => setFull(true)}
              title="All events (f)">All {data.steps.length}</button>
          </div>}
          <button class="theme" onClick={() => setTheme(nextTheme[theme])}
            aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`}>
            {{ auto: "◐", light: "☀", dark: "☾" }[theme]}
          </button>
        </div>
      </header>
      {narrow && <nav role="tablist">
        {tabs.map((name) =>
          <button role="tab" aria-selected={tab === name} onClick={() => setTab(name)}>
            {{ next: "Next", timeline: "Timeline", state: "State", why: "Why" }[name]}
          </button>)}
      </nav>}
      {narrow
        ? <main>{tab === "timeline" ? panels.timeline
          : <div class="panel">
            {tab === "next" ? live?.controls(step) : panels[tab]}{tab === "why" && about}
          </div>}
        </main>
        : <main>
          {live && <aside class="next">{live.controls(step)}</aside>}
          {panels.timeline}
          <aside>{panels.why}{panels.state}{about}</aside>
        </main>}
      <Transport data={data} layout={layout} stop={stop} row={row} goTo={goToStop}
        goToStep={goTo} />
    </div>
  );
}
