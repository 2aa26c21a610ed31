import { render } from "preact";
import { App } from "./app";
import type { Data } from "./data";
import { version } from "./data";
import "./style.css";

// An Interlock is what the page finds as window.interlock. A live page replaces its data by show,
// and hears of the reader's steps by events "interlock:step", whose detail is the step.
export interface Interlock {
  data: Data;
  live: boolean;
  show?: (data: Data, step?: number) => void;
}

declare global {
  interface Window { interlock: Interlock }
}

const root = document.getElementById("page")!;
const { interlock } = window;

function show(data: Data, step?: number) {
  interlock.data = data;
  if (data.version !== version) {
    const text = `This page reads version ${version} of the data, not ${data.version}.`;
    render(<p class="refused">{text}</p>, root);
    return;
  }
  render(<App data={data} live={interlock.live} wanted={step} />, root);
}

interlock.show = show;
show(interlock.data);
