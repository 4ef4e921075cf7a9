// Colours of the style sheets for a canvas, which knows no custom properties.

/** @type {Map<string, string>} */
const known = new Map();
let look = "";

/** @param {HTMLElement} place anywhere on the page @param {string} name of a custom property that is a colour */
export function colourOf(place, name) {
  const now = getComputedStyle(place).color;
  // Its own colour tells light from dark: what is known of the other is of no use.
  if (now !== look) {
    look = now;
    known.clear();
  }
  let colour = known.get(name);
  if (colour === undefined) {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    // Forced colours would be one for all.
    probe.style.setProperty("forced-color-adjust", "none");
    place.append(probe);
    colour = getComputedStyle(probe).color;
    probe.remove();
    known.set(name, colour);
  }
  return colour;
}
