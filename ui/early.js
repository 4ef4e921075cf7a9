// Before the first paint: light or dark, as dense, and text as large, as it was set.
try {
  const look = JSON.parse(localStorage.getItem("ignis.look") ?? "{}");
  if (typeof look.theme === "string") document.documentElement.dataset.theme = look.theme;
  if (typeof look.density === "string") document.documentElement.dataset.density = look.density;
  if (typeof look.textSize === "number" && look.textSize !== 100) document.documentElement.style.fontSize = `${look.textSize}%`;
} catch {
  // What an older page left is no reason not to start.
}
