// Before the first paint: light or dark as it was set.
try {
  const look = JSON.parse(localStorage.getItem("ignis.look") ?? "{}");
  if (typeof look.theme === "string") document.documentElement.dataset.theme = look.theme;
} catch {
  // What an older page left is no reason not to start.
}
