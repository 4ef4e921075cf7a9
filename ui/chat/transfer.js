// Under the list of chats: how many this browser keeps, the ways to files and from them, and the way to be rid of all.

import { useEffect, useState } from "../vendor/hooks.js";
import { bytes, count } from "../parts/format.js";
import { html } from "../parts/html.js";
import { Menu } from "../parts/menu.js";
import { chooseChats } from "../shell/choose-chats.js";
import { Icon } from "../shell/icons.js";
import { list, open } from "../state/chats.js";
import { dialog } from "../state/session.js";
import { exportAll, exportBranch, exportChat, measure } from "../state/transfer.js";

export function Transfer() {
  const [kept, setKept] = useState({ numChats: 0, numBytes: 0 });
  useEffect(() => {
    measure().then((found) => found && setKept(found));
  }, [list.value.length]);
  const isEmpty = !open.value.head;
  const items = [
    { label: "Export this branch as Markdown", act: () => exportBranch(), isDisabled: isEmpty },
    { label: "Export this chat as JSON", act: exportChat, isDisabled: isEmpty },
    { label: "Export all chats as JSON", act: exportAll, isDisabled: !list.value.length },
    { label: "Import chats…", act: chooseChats, isApart: true },
    { label: "Delete all chats…", act: () => (dialog.value = "clear"), isDisabled: !list.value.length, isBad: true, isApart: true },
  ];
  return html`<span>${kept.numChats > 0 && `${count(kept.numChats)} ${kept.numChats === 1 ? "chat" : "chats"}`}${kept.numBytes > 0 && ` · ${bytes(kept.numBytes)}`}</span>
    <${Menu} id="transfer" label="All chats" face=${html`<${Icon} name="download" />`} items=${items} />`;
}
