import type { JSX } from "preact";
import type { Data } from "./data";
import { arrow, bar } from "./timeline";

// AboutPanel says what the drawing means, which keys there are, and how to replay the run.
export function AboutPanel({ data, live }: { data: Data; live: boolean }) {
  const { about } = data;
  return (
    <section class="about">
      <details>
        <summary>Legend and keys</summary>
        <ul class="legend">
          <Sign text="waits">{bar("waits", 14, 2, 20, 6, "p1")}</Sign>
          <Sign text="holds, as far as it knows">{bar("holds", 14, 2, 20, 10, "p1")}</Sign>
          <Sign text="in its critical section">{bar("inside", 14, 2, 20, 10, "p1")}</Sign>
          <Sign text="believes lost">{bar("lost", 14, 2, 20, 10, "p1")}</Sign>
          <Sign text="has a session">{bar("session", 14, 0, 22, 2, "p1")}</Sign>
          <Sign text="not connected">{bar("disconnected", 14, 0, 22, 2, "p1")}</Sign>
          <Sign text="paused">{bar("paused", 14, 2, 20, 14, "p1")}</Sign>
          <Sign text="request">{arrow("request", false, 1, 11, 34, 11, "p1")}</Sign>
          <Sign text="reply">{arrow("reply", false, 1, 11, 34, 11, "p1")}</Sign>
          <Sign text="watch event">{arrow("watch", false, 1, 11, 34, 11, "p1")}</Sign>
          <Sign text="lost message">{arrow("request", true, 1, 11, 22, 11, "p1")}</Sign>
          <Sign text="fault">
            <g class="dot"><path class="bolt" d="M14 4l7 7l-7 7l-7 -7z" /></g>
          </Sign>
          <Sign text="violation"><g class="dot p1">
            <circle class="ring" cx="14" cy="11" r="8" /><circle cx="14" cy="11" r="4" />
          </g></Sign>
          {data.likelihood && <Sign text="share of random continuations that fail">
            <g class="curve">
              <path class="area" d="M2 18L12 15L20 6L34 4V20H2z" />
              <path class="line" d="M2 18L12 15L20 6L34 4" />
            </g>
          </Sign>}
        </ul>
        <dl class="keys">
          {live && <>
            <dt><kbd>1</kbd> … <kbd>9</kbd></dt><dd>choose the next step</dd>
            <dt><kbd>Enter</kbd></dt><dd>the next step of the branch, or the default one</dd>
            <dt><kbd>Backspace</kbd></dt><dd>take the last step back</dd>
            <dt><kbd>r</kbd></dt><dd>run on to a violation or the end</dd>
            <dt><kbd>s</kbd></dt><dd>save the schedule</dd>
          </>}
          <dt><kbd>←</kbd> <kbd>→</kbd></dt><dd>previous, next event</dd>
          <dt><kbd>Home</kbd> <kbd>End</kbd></dt><dd>first, last event</dd>
          <dt><kbd>/</kbd></dt><dd>search</dd>
          <dt><kbd>n</kbd> <kbd>N</kbd></dt><dd>next, previous match</dd>
          <dt><kbd>f</kbd></dt><dd>all events, or those that mattered</dd>
        </dl>
      </details>
      {(about.deviations ?? []).length > 0 && <p class="meta">
        <b>Schedule</b> {about.deviations!.join(" · ")}
      </p>}
      {about.replay && <p class="meta"><b>Replay</b> <code>{about.replay}</code></p>}
    </section>
  );
}

function Sign({ text, children }: { text: string; children: JSX.Element }) {
  return <li><svg width="36" height="22" aria-hidden="true">{children}</svg>{text}</li>;
}
