import type { ComponentChildren } from "preact";
import type { Change, Data, NodeState, ProcessState } from "./data";
import type { Inspection, Key } from "./explore/api";
import { clock } from "./rows";
import type { State } from "./state";
import { rich } from "./rowtext";
import { process } from "./transport";

// A Now is what a live page knows of its last step, beyond what the events say.
export interface Now {
  words: Map<number, string>; // the state of each process
  system: Inspection | null;
}

// StatePanel shows the state after a step: beliefs, queues, znodes, sessions, watches, servers.
export function StatePanel({ data, state, step, now }: {
  data: Data; state: State; step: number; now?: Now;
}) {
  const change: Change = data.steps[step]?.change ?? {};
  const changed = (list: { id: number | string }[] | undefined, id: number | string) =>
    list?.some((c) => c.id === id) ? "changed" : "";
  const processes = data.lanes.filter((l) => l.kind === "process");
  const session = (id: string) => now?.system?.sessions.find((s) => s.id === id);
  const server = (number: number) => now?.system?.servers.find((s) => s.number === number);
  const keys = now?.system?.keys;
  const znodes = !keys && (now?.system || data.nodes.length > 0);
  return (
    <section class="state" aria-label={`State after event ${step}`}>
      <Part title="Beliefs" hint="what each process knows">
        <table>
          {processes.map((l) => {
            const p = state.processes.get(l.number) ?? { id: l.number, belief: "idle" };
            return <tr class={changed(change.processes, l.number)}>
              <td><Chip number={l.number} /></td>
              <td>
                <Belief p={p} />
                {p.inside && <span class={`belief inside ${process(p.id)}`}>inside</span>}
                {p.paused && <span class="belief paused">paused</span>}
              </td>
              <td class="detail">{now ? rich(now.words.get(p.id) ?? "", "")
                : detail(data, state, p)}</td>
            </tr>;
          })}
        </table>
      </Part>
      {queues(data, state).map(([directory, nodes]) =>
        <Part title="Queue" hint={directory}>
          <ol class="queue">
            {nodes.map((n) => <li class={changed(change.nodes, n.id)}>
              <NodeName data={data} n={n} />
              <Belief p={state.processes.get(n.process ?? 0)} node={n.id} />
            </li>)}
          </ol>
          {nodes.length === 0 && <p class="none">empty</p>}
        </Part>)}
      {znodes && <Part title="Watches">
        {state.watches.size === 0 ? <p class="none">none</p> : <table>
          {[...state.watches.values()].map((w) => <tr class={changed(change.watches, w.id)}>
            <td><Chip number={w.process ?? 0} /></td>
            <td>{rich(w.on ?? "", "")}</td>
            <td class="detail">{w.id}, {w.fired ? `fired: ${w.fired}, event under way`
              : awaited[w.kind ?? ""] ?? w.kind}</td>
          </tr>)}
        </table>}
      </Part>}
      {znodes && <Part title="Sessions">
        <table>
          {[...state.sessions.values()].map((s) => <tr
            class={`${changed(change.sessions, s.id)} ${s.state}`}>
            <td><Chip number={s.process} /></td>
            <td><code>{s.id}</code></td>
            <td class="detail">{s.state}
              {session(s.id) && `, expires at ${clock(session(s.id)!.expires_ns)}`}</td>
          </tr>)}
        </table>
        {state.sessions.size === 0 && <p class="none">none</p>}
      </Part>}
      {now?.system && <InFlight system={now.system} />}
      {keys && <Keys keys={keys} several={now!.system!.servers.length > 1} />}
      {znodes && <Part title="Tree">
        <Tree data={data} state={state} change={change} />
      </Part>}
      {state.servers.size > 0 && <Part title="Servers">
        <table>
          {data.lanes.filter((l) => l.kind === "server").map((l) => {
            const s = state.servers.get(l.number);
            return <tr class={changed(change.servers, l.number)}>
              <td><span class="chip">{l.name}</span></td>
              <td>{server(l.number)?.up === false ? "down" : s?.leads ? "leader" : ""}
                {server(l.number)?.partitioned && " partitioned"}</td>
              <td class="detail">{s?.applied ? `applied ${s.applied}` : ""}
                {s?.logged && s.logged !== s.applied ? `, logged ${s.logged}` : ""}</td>
            </tr>;
          })}
        </table>
      </Part>}
    </section>
  );
}

// Keys shows what servers store that have no znodes.
function Keys({ keys, several }: { keys: Key[]; several: boolean }) {
  return <Part title="Keys">
    {keys.length === 0 ? <p class="none">none</p> : <table>
      {keys.map((k) => <tr>
        <td><Chip number={k.process} /></td>
        <td><code>{k.name}</code>{several && ` at s${k.server}`}</td>
        <td class="detail">{k.value ?? ""}
          {k.expires_ns ? `, expires at ${clock(k.expires_ns)}` : ", never expires"}</td>
      </tr>)}
    </table>}
  </Part>;
}

// InFlight shows the messages between the clients and the servers, the oldest first.
function InFlight({ system }: { system: Inspection }) {
  const messages = system.clients.flatMap((c) => [
    ...(c.requests ?? []).map((text) => ({ ...c, arrow: "→", text })),
    ...(c.messages ?? []).map((text) => ({ ...c, arrow: "←", text })),
  ]);
  return <Part title="In flight">
    {messages.length === 0 ? <p class="none">nothing</p> : <table>
      {messages.map((m) => <tr>
        <td><Chip number={m.process} /></td>
        <td>{m.arrow}{!system.keys && ` s${m.server}`}</td>
        <td class="detail">{rich(m.text, "")}</td>
      </tr>)}
    </table>}
  </Part>;
}

// What a watch of each kind waits for.
const awaited: Record<string, string> = {
  data: "for its change", exist: "for its creation", child: "for its children",
};

function Part({ title, hint, children }: {
  title: string; hint?: string; children: ComponentChildren;
}) {
  return <section class="part">
    <h3>{title}{hint && <small>{hint}</small>}</h3>
    {children}
  </section>;
}

function Chip({ number }: { number: number }) {
  return <span class={`chip ${process(number)}`}>c{number}</span>;
}

// Belief shows what a process believes. In a queue it does so beside the node of the grant only.
function Belief({ p, node }: { p?: ProcessState; node?: number }) {
  if (!p || node !== undefined && p.node !== undefined && p.node !== node) return null;
  const name = p.belief.replace(/ /g, "-");
  const color = p.belief === "holds" ? process(p.id) : "";
  return <span class={`belief ${name} ${color}`}>{p.belief}</span>;
}

// detail says more about a process: its node, its request, its connection.
function detail(data: Data, state: State, p: ProcessState): string {
  const parts: string[] = [];
  if (p.node !== undefined) {
    parts.push(`by ${data.nodes[p.node]!.name}${state.nodes.has(p.node) ? "" : ", which is gone"}`);
  }
  if (p.request) parts.push(`awaits ${p.request}`);
  if (p.connection && p.connection !== "has session") parts.push(p.connection);
  return parts.join(" · ");
}

// queues returns the directories of sequential znodes, each with its live ones in the order of
// their creation. A directory stays in the list when its queue is empty.
function queues(data: Data, state: State): [string, NodeState[]][] {
  const found = new Map<string, NodeState[]>();
  data.nodes.forEach((n, id) => {
    if (!/\d{10}$/.test(n.path)) return;
    const directory = n.path.slice(0, n.path.lastIndexOf("/")) || "/";
    if (!found.has(directory)) found.set(directory, []);
    const live = state.nodes.get(id);
    if (live) found.get(directory)!.push(live);
  });
  return [...found];
}

function NodeName({ data, n }: { data: Data; n: NodeState }) {
  const node = data.nodes[n.id]!;
  const color = n.process ? process(n.process) : "";
  return <span class={`node ${color}`} title={node.path}>{node.name}</span>;
}

// Tree shows the znodes by their paths.
function Tree({ data, state, change }: { data: Data; state: State; change: Change }) {
  const directories = new Map<string, NodeState[]>();
  for (const n of state.nodes.values()) {
    const path = data.nodes[n.id]!.path;
    const directory = path.slice(0, path.lastIndexOf("/")) || "/";
    if (!directories.has(directory)) directories.set(directory, []);
    directories.get(directory)!.push(n);
  }
  if (directories.size === 0) return <p class="none">no node of this run</p>;
  return <ul class="tree">
    {[...directories].map(([directory, nodes]) => <li>
      <code>{directory}</code>
      <ul>
        {nodes.map((n) => {
          const path = data.nodes[n.id]!.path;
          return <li class={change.nodes?.some((c) => c.id === n.id) ? "changed" : ""}>
            <code class="leaf" title={path}>
              <bdi>{path.slice(path.lastIndexOf("/") + 1)}</bdi>
            </code>
            <span class="detail">{data.nodes[n.id]!.name}{n.session ? "" : ", persistent"}
              {n.data ? `, data ${JSON.stringify(n.data)}` : ""}</span>
          </li>;
        })}
      </ul>
    </li>)}
  </ul>;
}
