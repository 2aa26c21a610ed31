import { render } from "preact";
import { App } from "./app";
import type { Data } from "./data";
import { version } from "./data";
import { Explore } from "./explore/explore";
import "./style.css";
import { rendered } from "./timeline";

// An Interlock is what the page finds as window.interlock.
interface Interlock {
  data: Data;
  live: boolean; // The page is that of interlock explore.
  rendered?: typeof rendered;
}

declare global {
  interface Window { interlock: Interlock }
}

const root = document.getElementById("page")!;
const { data, live } = window.interlock;
window.interlock.rendered = rendered;

if (data.version !== version) {
  const text = `This page reads version ${version} of the data, not ${data.version}.`;
  render(<p class="refused">{text}</p>, root);
} else {
  render(live ? <Explore data={data} /> : <App data={data} />, root);
}
