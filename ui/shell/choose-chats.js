// The browser's own choice of a file, for one with chats.

import { look } from "../state/transfer.js";

export function chooseChats() {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,application/json";
  input.addEventListener("change", () => input.files?.[0] && look(input.files[0]));
  input.click();
}
