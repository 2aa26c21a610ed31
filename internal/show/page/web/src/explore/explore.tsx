import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { App } from "../app";
import type { Data } from "../data";
import type { Path, State } from "./api";
import * as api from "./api";
import type { Place } from "./branches";
import { arrive } from "./branches";
import type { Actions, Notice } from "./controls";
import { Controls, sorted } from "./controls";

// Explore is the page of interlock explore: that of a run, with controls by which the reader
// chooses its schedule. The data are those of the state with which the server begins.
export function Explore({ data }: { data: Data }) {
  const [place, setPlace] = useState<Place | null>(null);
  const [notice, setNotice] = useState<Notice | null>(null);
  const [busy, setBusy] = useState(false);
  const now = useRef<{ place: Place | null; busy: boolean; moved: boolean }>(
    { place: null, busy: false, moved: false });

  // perform performs one action at a time, and shows its error.
  const perform = useCallback(async (action: () => Promise<Notice | null>) => {
    if (now.current.busy) return;
    now.current.busy = true;
    setBusy(true);
    try {
      setNotice(await action());
    } catch (error) {
      setNotice({ text: (error as Error).message, error: true });
    } finally {
      now.current.busy = false;
      setBusy(false);
      if (now.current.moved) follow();
    }
  }, []);

  // show shows a state. The browser's history gets an entry, so that its Back button goes back.
  const show = useCallback((state: State, entry: boolean) => {
    const from = now.current.place;
    const next = arrive(from, state);
    now.current.place = next;
    setPlace(next);
    if (entry && !(from && api.samePath(from.state, state))) {
      history.pushState(null, "", linkTo(state));
    }
    return null;
  }, []);

  // follow goes where the browser's history has gone.
  const follow = useCallback(() => {
    now.current.moved = now.current.busy;
    const path = api.pathIn(location.hash);
    const here = now.current.place?.state;
    if (path && here && !api.samePath(path, here)) {
      perform(async () => show(await api.stateAt(path), false));
    }
  }, []);

  const actions = useMemo<Actions>(() => {
    const lead = (ask: (here: State) => Promise<State> | null) => {
      const here = now.current.place?.state;
      const asked = here && !now.current.busy && ask(here);
      if (asked) perform(async () => show(await asked, true));
    };
    const go = (path: Path) => lead(() => api.stateAt(path));
    return {
      go,
      choose: (step) => lead((here) => api.choose(here, step)),
      back: () => lead((here) => here.length === 0 ? null
        : api.stateAt(api.pathOf(here, here.length - 1))),
      forward: () => lead((here) => here.ended ? null
        : api.stateAt(api.pathOf(now.current.place!.branch, here.length + 1))),
      run: () => lead((here) => here.ended ? null : api.runOn(here)),
      save: () => {
        const here = now.current.place?.state;
        if (here) {
          perform(async () => {
            const saved = await api.save(here);
            return {
              text: `Saved: ${saved.signature || "violates nothing"}. Replay it with `,
              command: saved.replay,
            };
          });
        }
      },
    };
  }, []);

  // A layout effect, so that the page listens from its first frame on.
  useLayoutEffect(() => {
    perform(async () => {
      const { start } = await api.scenario();
      const linked = api.pathIn(location.hash);
      show(await api.stateAt(start), false);
      return linked ? show(await api.stateAt(linked), false) : null;
    });
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, []);

  const press = (e: KeyboardEvent): boolean => {
    const here = now.current.place?.state;
    if (e.key >= "1" && e.key <= "9") {
      const choice = here && !here.ended && sorted(here.enabled)[Number(e.key) - 1];
      if (choice) actions.choose(choice.step);
      return Boolean(choice);
    }
    const onControl = e.target instanceof HTMLElement && e.target.closest("button, a, summary");
    switch (e.key) {
      case "Backspace": actions.back(); return true;
      case "Enter":
        if (onControl) return false; // It clicks the control.
        actions.forward();
        return true;
      case "r": actions.run(); return true;
      case "s": actions.save(); return true;
    }
    return false;
  };

  return <App data={place?.state.page ?? data} live={{
    path: place ? api.linkTo(place.state) : undefined,
    since: place?.state.taken.at(-1)?.event ?? 0,
    now: place ? {
      words: new Map(place.state.processes.map((p) => [p.process, p.text])),
      system: place.state.system,
    } : undefined,
    press,
    controls: (event) => <Controls place={place} event={event} busy={busy} notice={notice}
      actions={actions} />,
  }} />;
}

// linkTo returns the link to a state.
function linkTo(state: State): string {
  return `#${new URLSearchParams({ path: api.linkTo(state) })}`;
}
