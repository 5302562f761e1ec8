// The searches that a person made or kept, by table, in this browser. Texts with long vectors are not kept.

const place = "tiltyard.searches", most = 12, longest = 300;

function read() {
  try {
    return JSON.parse(localStorage.getItem(place)) || {};
  } catch {
    return {};
  }
}

function write(names, change) {
  const all = read(), key = names.join("$");
  all[key] = change(all[key] || { recent: [], saved: [] });
  try {
    localStorage.setItem(place, JSON.stringify(all));
  } catch { /* the browser keeps nothing */ }
}

/** The recent and the saved searches of a table. */
export const searchesOf = (names) => read()[names.join("$")] || { recent: [], saved: [] };

/** Notes that a search was made. */
export function noteSearch(names, text) {
  if (!text || text.length > longest) return;
  write(names, (of) => ({ ...of, recent: [text, ...of.recent.filter((one) => one !== text)].slice(0, most) }));
}

/** Keeps the parameters of a page under a name. */
export const saveSearch = (names, name, parameters) =>
  write(names, (of) => ({ ...of, saved: [...of.saved.filter((one) => one.name !== name), { name, parameters }] }));

/** Forgets a saved search. */
export const forgetSearch = (names, name) => write(names, (of) => ({ ...of, saved: of.saved.filter((one) => one.name !== name) }));

const visited = "tiltyard.recent";

/** The tables that were opened last, newest first. */
export function recentTables() {
  try {
    return JSON.parse(localStorage.getItem(visited)) || [];
  } catch {
    return [];
  }
}

/** Notes that a table was opened. */
export function noteTable(names) {
  const key = JSON.stringify(names);
  try {
    localStorage.setItem(visited, JSON.stringify([names, ...recentTables().filter((one) => JSON.stringify(one) !== key)].slice(0, 8)));
  } catch { /* the browser keeps nothing */ }
}
