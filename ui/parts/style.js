// The style sheet of a view that came later than the page.

/**
 * Returns once it is there, so that nothing is drawn without it; a second call asks for nothing.
 * @param {string} name a file without its ending, as seen from ui/styles/
 */
export function loadStyle(name) {
  const id = `style-${name}`;
  if (document.getElementById(id)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.id = id;
    link.rel = "stylesheet";
    link.href = new URL(`../styles/${name}.css`, import.meta.url).href;
    link.addEventListener("load", () => resolve(undefined), { once: true });
    link.addEventListener("error", () => (link.remove(), reject(new Error(`${name}.css did not come`))), { once: true });
    document.head.append(link);
  });
}
