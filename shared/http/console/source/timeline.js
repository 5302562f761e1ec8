// The versions of a table that fit a filter: { text, from, until }, of which each may be empty, and times are ISO texts.

import * as api from "./api.js";

export const step = 25; // versions that are shown at once
const mostRead = 500, pageOfMany = 100;

/** The filter in the parameters of a page. */
export const filterOf = ({ find = "", from = "", until = "" }) => ({ text: find.trim(), from, until });

/** The time of a field of a form as ISO text, and the reverse. The field has the time of the browser's zone. */
export const instantOf = (local) => local && new Date(local).toISOString();
export const localOf = (instant) => instant && new Date(Date.parse(instant) - new Date(instant).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/**
 * Reads versions from a page token on, newest first, until some fit or many were read. Tags are the names of the tags of a
 * version. Returns { versions, latest, read, next }: those that fit, the first of all, the number of all, and the token of
 * the rest.
 */
export async function versions(names, branch, filter, tags, token) {
  const filtered = filter.text || filter.from || filter.until, fit = fitting(filter, tags), kept = [];
  let latest, read = 0, next = token;
  do {
    const page = await api.call(api.ofTable(names, "version/list"), { descending: true, limit: filtered ? pageOfMany : step, details: true, ...branch, ...(next ? { page_token: next } : {}) });
    latest ??= page.versions[0]?.version;
    kept.push(...page.versions.filter(fit));
    read += page.versions.length;
    next = filter.from && page.versions.at(-1)?.timestamp_millis < Date.parse(filter.from) ? "" : page.page_token;
  } while (next && kept.length < step && read < mostRead);
  return { versions: kept, latest, read, next };
}

/** Whether a version is of the time, and has each word in its operation, authors, tags or metadata. */
function fitting({ text, from, until }, tags) {
  const words = text.toLowerCase().split(/\s+/);
  return (version) => {
    if (from && version.timestamp_millis < Date.parse(from) || until && version.timestamp_millis > Date.parse(until)) return false;
    const { operation = "", authors = [] } = version.details || {};
    const all = [operation, ...authors, ...tags(version), ...Object.entries(version.metadata || {}).flat()].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  };
}
