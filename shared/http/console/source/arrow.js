// The library that reads and writes Arrow. It is a third of the scripts, and the first view needs none of it; so it is
// loaded after that, and whoever has rows to read waits for it.

let loading;

/** Loads the library, once. It is window.Arrow, too. */
export function arrow() {
  loading ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.querySelector("link[rel=preload]").href;
    script.onload = () => resolve(window.Arrow);
    script.onerror = () => {
      loading = undefined;
      reject(new Error("A script of the console cannot be loaded."));
    };
    document.head.append(script);
  });
  return loading;
}

/** Begins to load it when the first view is painted. */
export const arrowSoon = () => requestAnimationFrame(() => setTimeout(() => arrow().catch(() => {})));
