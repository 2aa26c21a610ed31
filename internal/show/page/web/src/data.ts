// The form of the data, as package page writes it; see data.go there for the meaning of each field.

export interface Data {
  version: number;
  about: About;
  lanes: Lane[];
  nodes: Node[];
  steps: Step[];
  decisive: number[];
  violations: Violation[];
  arrows: Arrow[];
  bars: Bar[];
  stuck: Stuck[];
  likelihood?: Likelihood;
}

export interface About {
  lock: string;
  scenario: string;
  trace_hash?: string;
  replay?: string;
  deviations?: string[];
}

export interface Lane {
  kind: "ensemble" | "server" | "process";
  number: number;
  name: string;
}

export interface Node {
  name: string;
  path: string;
}

export interface Step {
  at?: number;
  kind: string;
  lane: number;
  text: string;
  source?: string;
  change?: Change;
}

export interface Change {
  processes?: ProcessState[];
  nodes?: NodeState[];
  sessions?: SessionState[];
  watches?: WatchState[];
  servers?: ServerState[];
}

export interface ProcessState {
  id: number;
  belief: string;
  inside?: boolean;
  paused?: boolean;
  attempt?: number;
  node?: number;
  connection?: string;
  request?: string;
}

export interface NodeState {
  id: number;
  gone?: boolean;
  process?: number;
  session?: string;
  data?: string;
}

export interface SessionState {
  id: string;
  process: number;
  state: string;
}

export interface WatchState {
  id: number;
  gone?: boolean;
  process?: number;
  on?: string;
  kind?: string;
  fired?: string;
}

export interface ServerState {
  id: number;
  leads?: boolean;
  logged?: string;
  applied?: string;
}

export interface Violation {
  property: string;
  reason: string;
  detail: string;
  why: string;
  step: number;
  events: number[];
}

export interface Arrow {
  kind: "request" | "reply" | "watch" | "replication";
  from: number;
  to: number;
  lane: number;
}

export interface Bar {
  lane: number;
  kind: string;
  from: number;
  to: number;
}

export interface Stuck {
  lane: number;
  text: string;
}

export interface Likelihood {
  text: string;
  curve: Point[];
  jump?: Decision;
  avoidable?: Decision;
}

export interface Point {
  step: number;
  probability: number;
}

export interface Decision {
  number: number;
  step: number;
  text: string;
}

// grants reports whether a process is granted the lock at a step.
export function grants(step: Step): boolean {
  return step.kind === "lock-return" && step.change?.processes?.[0]?.belief === "holds";
}

// The version of the data that this program reads.
export const version = 1;
