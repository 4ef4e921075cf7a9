// Starts the page.

import { Turns } from "./chat/transcript.js";
import { html } from "./parts/html.js";
import { patient } from "./parts/later.js";
import { shieldWords } from "./parts/sending.js";
import { startRouter } from "./router.js";
import { Frame } from "./shell/frame.js";
import * as chats from "./state/chats.js";
import * as server from "./state/server.js";
import * as session from "./state/session.js";
import { render } from "./vendor/preact.js";
import { First, VIEWS } from "./views.js";

session.start();
shieldWords();
startRouter();
const app = /** @type {HTMLElement} */ (document.getElementById("app"));
app.replaceChildren();
render(html`<${Frame} views=${VIEWS} first=${First} />`, app);
performance.mark("usable");
chats.start();
server.start();
// Meanwhile the model may have been unloaded, or another client may have asked for another one.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) server.watch();
});
addEventListener("online", () => server.watch());
addEventListener("focus", () => session.isConnected.value || server.watch());
// What nothing here takes is no address to go to: an answer would be cut by a file that missed its place.
addEventListener("dragover", (event) => {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "none";
});
addEventListener("drop", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
// What the first message needs is here before it, so that a server that goes away takes nothing of the page with it.
setTimeout(async () => {
  const [outbox] = await patient(() =>
    Promise.all([
      import("./state/outbox.js"),
      Turns.ahead(),
      import("./chat/queue.js"),
      import("./chat/panel.js"),
      import("./chat/found.js"),
      import("./chat/mark.js"),
      import("./shell/clear-chats.js"),
      import("./shell/palette.js"),
      import("./shell/incoming.js"),
      import("./parts/toast.js"),
      import("./state/mirror.js"),
      import("./text/sheet.js"),
      import("./text/plain.js"),
    ]),
  );
  outbox.start();
  performance.mark("whole");
  // One that comes is told in the bar, whoever asked for it.
  (await patient(() => import("./state/downloads.js"))).attend();
  // The Monitor shows what was before it was opened: a scrape each two seconds costs the page a hundredth of a core.
  (await patient(() => import("./state/samples.js"))).collect();
});
