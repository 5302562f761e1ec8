// The way from a span of time to a comparison: what has changed in the last day?

import * as api from "./api.js";
import { go, tableLink } from "./place.js";
import { say } from "./ui.jsx";

const hour = 3_600_000;
const spans = [["the last hour", hour], ["the last day", 24 * hour], ["the last 7 days", 7 * 24 * hour]];

/** Latest is the newest version, with which the one at the beginning of a span is compared. */
export function Since({ names, branch, latest }) {
  async function compare(span) {
    try {
      const { version, whole } = await versionAt(names, branch, Date.now() - span);
      if (!whole) say("The oldest version is younger than that. The comparison begins with it.");
      go(tableLink(names, { tab: "compare", ...branch, a: version, b: latest }));
    } catch (error) {
      say(error.message, true);
    }
  }
  return <div class="row tight since" role="group" aria-label="What changed in">What changed in {spans.map(([name, span]) => <button key={name} class="small" onClick={() => compare(span)}>{name}</button>)}</div>;
}

/** The version that was the latest at a moment, or else the oldest one, whose span is not the whole. */
async function versionAt(names, branch, moment) {
  let oldest;
  for await (const page of api.pages(api.ofTable(names, "version/list"), { descending: true, limit: 1000, ...branch })) {
    const found = page.versions.find((one) => one.timestamp_millis <= moment);
    if (found) return { version: found.version, whole: true };
    oldest = page.versions.at(-1) ?? oldest;
  }
  return { version: oldest.version, whole: false };
}
