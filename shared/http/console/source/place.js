// The address of a page holds its whole state: #/table/a/b?tab=versions&version=3 are a page, its names and parameters.

import { useEffect, useState } from "preact/hooks";

/** Reads the address. */
export function place(hash = location.hash) {
  const [path, rest = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page = "", ...names] = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { page, names, parameters: Object.fromEntries(new URLSearchParams(rest)) };
}

/** The address of a page. Parameters that are empty are left out. */
export function address(page, names = [], parameters = {}) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null && value !== false);
  const rest = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `#/${[page, ...names].filter(Boolean).map(encodeURIComponent).join("/")}${rest ? `?${rest}` : ""}`;
}

/** The address of a table's page. */
export const tableLink = (names, parameters) => address("table", names, parameters);

/** Goes to an address, so that Back returns; with replace, the present one is not kept. */
export function go(to, replace = false) {
  if (replace) {
    history.replaceState(null, "", to);
    dispatchEvent(new Event("hashchange"));
  } else location.hash = to;
}

/** The present place, as a hook. */
export function usePlace() {
  const [now, set] = useState(() => place());
  useEffect(() => {
    const moved = () => set(place());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return now;
}
