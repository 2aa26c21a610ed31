import type { Path, State } from "./api";
import { begins, pathOf } from "./api";

// A Place is where the reader is: at a state, on a branch that may go on beyond it.
export interface Place {
  state: State;
  branch: Path;
  others: Path[]; // other branches, none the beginning of another one
}

// arrive returns the place at a state. If the branch does not lead there, another one begins.
export function arrive(from: Place | null, state: State): Place {
  const here = pathOf(state);
  let branch = from?.branch ?? here;
  let others = from?.others ?? [];
  if (!begins(branch, here)) {
    if (!begins(here, branch) && !others.some((b) => begins(b, branch))) {
      others = [...others, branch];
    }
    branch = others.find((b) => begins(b, here)) ?? here;
  }
  return { state, branch, others: others.filter((b) => !begins(branch, b)) };
}
