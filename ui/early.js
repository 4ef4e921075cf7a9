// Before the first paint: light or dark, as dense, and text as large, as it was set.
try {
  const look = JSON.parse(localStorage.getItem("ignis.look") ?? "{}");
  if (typeof look.theme === "string") document.documentElement.dataset.theme = look.theme;
  if (typeof look.density === "string") document.documentElement.dataset.density = look.density;
  const textSize = Math.min(130, Math.max(90, look.textSize));
  if (textSize && textSize !== 100) document.documentElement.style.fontSize = `${textSize}%`;
} catch {
  // What an older page left is no reason not to start.
}
