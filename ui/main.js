// Starts the page.

import { html } from "./parts/html.js";
import { startRouter } from "./router.js";
import { Frame } from "./shell/frame.js";
import * as chats from "./state/chats.js";
import * as server from "./state/server.js";
import * as session from "./state/session.js";
import { render } from "./vendor/preact.js";
import { First, VIEWS } from "./views.js";

session.start();
startRouter();
const app = /** @type {HTMLElement} */ (document.getElementById("app"));
app.replaceChildren();
render(html`<${Frame} views=${VIEWS} first=${First} />`, app);
performance.mark("usable");
chats.start();
server.watch();
// Meanwhile the model may have been unloaded, or another client may have asked for another one.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) server.watch();
});
addEventListener("online", () => server.watch());
