// What the palette offers of the open chat.

import { CONTROL } from "../parts/sending.js";
import { runOfOpen, stop } from "../state/chats.js";
import { exportBranch, exportChat } from "../state/transfer.js";
import { path } from "../state/tree.js";
import { branchOff, copyPlain, copyTurn, drop, edit, regenerate, sameAgain } from "./acts.js";
import { copyLastCode } from "./keys.js";

/** @returns {import("../state/actions.js").Action[]} */
export function chatActions() {
  const act = (/** @type {"user" | "assistant"} */ role, /** @type {(turn: import("../state/turn.js").Turn) => unknown} */ work) => () => {
    const last = path.value.findLast((turn) => turn.record.role === role);
    if (last) work(last);
  };
  return [
    ...(runOfOpen() ? [{ label: "Stop the answer", keys: "Esc", act: stop }] : []),
    { label: "Regenerate the last answer", keys: "R", act: act("assistant", regenerate) },
    { label: "Same again: the last answer", keys: "S", act: act("assistant", sameAgain) },
    { label: "Edit the last message", keys: "↑", act: act("user", edit) },
    { label: "Edit the last answer", keys: "E", act: act("assistant", edit) },
    { label: "Branch into a new chat", keys: "B", act: act("assistant", branchOff) },
    { label: "Copy the last answer", keys: `${CONTROL} Shift C`, act: act("assistant", copyTurn) },
    { label: "Copy the last answer as plain text", act: act("assistant", copyPlain) },
    { label: "Copy the last code block", keys: `${CONTROL} Shift ;`, act: copyLastCode },
    { label: "Delete the last answer", keys: "D", act: act("assistant", drop) },
    { label: "Export this branch as Markdown", act: () => exportBranch() },
    { label: "Export this chat as JSON", act: exportChat },
  ];
}
