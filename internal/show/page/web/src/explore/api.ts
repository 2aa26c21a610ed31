// The JSON API of interlock explore; the comment of package explore describes it.
import type { Data } from "../data";

// A Path leads from the start of a run to a state.
export interface Path {
  length: number;
  deviations: Deviation[];
}

export interface Deviation {
  index: number;
  step: string;
}

export interface Scenario {
  start: Path;
}

// A State is the state at the end of a path.
export interface State extends Path {
  at_ns: number;
  ended: boolean;
  taken: Taken[];
  enabled: Choice[];
  events: { decision: number }[];
  processes: { process: number; text: string }[];
  system: Inspection | null;
  violations: { property: string; signature: string; out_of_contract?: boolean }[];
  page: Data;
}

export interface Taken {
  index: number;
  step: string;
  deviates?: boolean;
  event: number;
}

export interface Choice {
  step: string;
  text: string;
  default?: boolean;
  fault?: boolean;
}

export interface Inspection {
  sessions: { id: string; server?: number; expires_ns: number }[];
  servers: { number: number; up: boolean; leader?: boolean; partitioned?: boolean }[];
  clients: { process: number; server: number; requests?: string[]; messages?: string[] }[];
  keys?: Key[]; // of a service without znodes
}

export interface Key {
  name: string;
  value?: string;
  process: number;
  server: number;
  expires_ns?: number;
}

export interface Saved {
  signature: string;
  trace_hash: string;
  replay: string;
}

// ask sends a request to the server of the page. An error has the server's message.
async function ask<T>(what: string, body?: unknown): Promise<T> {
  const response = await fetch(`api/${what}`, body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

export const scenario = () => ask<Scenario>("scenario");
export const stateAt = (path: Path) => ask<State>("state", pathOf(path));
export const choose = (path: Path, step: string) =>
  ask<State>("choose", { ...pathOf(path), step });
export const runOn = (path: Path) => ask<State>("run", pathOf(path));
export const save = (path: Path) => ask<Saved>("save", pathOf(path));

// pathOf returns the first steps of a path.
export function pathOf(path: Path, length = path.length): Path {
  return { length, deviations: path.deviations.filter((d) => d.index < length) };
}

export function samePath(a: Path, b: Path): boolean {
  return linkTo(a) === linkTo(b);
}

// begins reports whether a path begins with a shorter one, or is that.
export function begins(path: Path, shorter: Path): boolean {
  return path.length >= shorter.length && samePath(pathOf(path, shorter.length), shorter);
}

// linkTo returns a path as it is in links, such as "12,10:cut c2".
export function linkTo(path: Path): string {
  const within = pathOf(path).deviations;
  return [path.length, ...within.map((d) => `${d.index}:${d.step}`)].join(",");
}

// pathIn returns the path in the hash of an address, or null.
export function pathIn(hash: string): Path | null {
  const text = new URLSearchParams(hash.replace(/^#/, "")).get("path");
  const [length, ...deviations] = (text ?? "").split(",");
  if (!/^\d+$/.test(length!)) return null;
  return {
    length: Number(length),
    deviations: deviations.map((d) => {
      const [index, ...step] = d.split(":");
      return { index: Number(index), step: step.join(":") };
    }),
  };
}
