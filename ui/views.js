// The views there are, in the order of the rail. One line each: what is not the first view comes when it is asked for.

import { ChatView } from "./chat/view.js";
import { loadStyle } from "./parts/later.js";

/** What is shown at once. */
export const First = ChatView;

/** @type {import("./shell/frame.js").Place[]} */
export const VIEWS = [
  { name: "chat", label: "Chat", icon: "chat", load: async () => ChatView },
  { name: "compare", label: "Compare", icon: "compare", load: async () => (await loadStyle("compare"), (await import("./compare/view.js")).CompareView) },
  { name: "agents", label: "Agents", icon: "agents", load: async () => (await loadStyle("agents"), (await import("./agents/view.js")).AgentsView) },
  { name: "monitor", label: "Monitor", icon: "pulse", load: async () => (await loadStyle("monitor"), (await import("./monitor/view.js")).MonitorView) },
  { name: "server", label: "Server", icon: "servers", load: async () => (await loadStyle("server"), (await import("./server/view.js")).ServerView) },
];
