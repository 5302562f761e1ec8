// Walks through the namespaces of the catalog, for pages that list one kind of object of all of them.

import * as api from "./api.js";
import { each } from "./each.js";

const mostSpaces = 200;

/** All pages of one list of a namespace. */
export async function listed(namespace, kind, field) {
  const all = [];
  for await (const page of api.pages(api.path("namespace", namespace, kind), { limit: 1000 })) all.push(...page[field]);
  return all;
}

/** The namespace and those inside it, level by level. More is set if there were too many to walk through. */
export async function namespaces(root = []) {
  const found = [root];
  for (let level = [root]; level.length > 0;) {
    const inside = await each(level, async (path) => (await listed(path, "list", "namespaces").catch(() => [])).map((name) => [...path, name]));
    level = inside.flat().slice(0, mostSpaces - found.length);
    found.push(...level);
    if (found.length >= mostSpaces) return { found, more: true };
  }
  return { found, more: false };
}

/** The objects of a kind in a namespace and in all inside it, as { namespace, one }. Those that nobody may list are left out. */
export async function everywhere(root, kind, field) {
  const { found, more } = await namespaces(root);
  const lists = await each(found, async (namespace) => (await listed(namespace, `${kind}/list`, field).catch((error) => {
    if (namespace === root || error.status !== 403) throw error;
    return [];
  })).map((one) => ({ namespace, one })));
  return { spaces: found, list: lists.flat(), more };
}
