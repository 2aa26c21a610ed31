import type {
  Data, NodeState, ProcessState, ServerState, SessionState, WatchState,
} from "./data";

// A State is the state of a run after a step. Its maps keep the order in which the parts appeared.
export interface State {
  processes: Map<number, ProcessState>;
  nodes: Map<number, NodeState>;
  sessions: Map<string, SessionState>;
  watches: Map<number, WatchState>;
  servers: Map<number, ServerState>;
}

const empty = (): State => ({
  processes: new Map(), nodes: new Map(), sessions: new Map(), watches: new Map(),
  servers: new Map(),
});

const copy = (s: State): State => ({
  processes: new Map(s.processes), nodes: new Map(s.nodes), sessions: new Map(s.sessions),
  watches: new Map(s.watches), servers: new Map(s.servers),
});

function put<K, V extends { id: K; gone?: boolean }>(map: Map<K, V>, values: V[] | undefined) {
  for (const v of values ?? []) {
    if (v.gone) map.delete(v.id);
    else map.set(v.id, v);
  }
}

// States computes the state at any step. It keeps every hundredth state.
export class States {
  private readonly kept: State[] = [empty()];

  constructor(private readonly data: Data) {}

  // at returns the state after a step, and before the first step if that is negative.
  at(step: number): State {
    const every = 100;
    const wanted = Math.floor((step + 1) / every);
    while (this.kept.length <= wanted) {
      const last = this.kept.length - 1;
      this.kept.push(this.advance(this.kept[last]!, last * every, (last + 1) * every));
    }
    return this.advance(this.kept[wanted]!, wanted * every, step + 1);
  }

  // advance returns the state with the changes of the steps from one to another, exclusive.
  private advance(from: State, first: number, end: number): State {
    const s = copy(from);
    for (let i = first; i < end; i++) {
      const change = this.data.steps[i]?.change;
      if (!change) continue;
      put(s.processes, change.processes);
      put(s.nodes, change.nodes);
      put(s.sessions, change.sessions);
      put(s.watches, change.watches);
      put(s.servers, change.servers);
    }
    return s;
  }
}
