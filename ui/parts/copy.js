// Copying, where the page is not a secure context too, and a button that says whether it worked.

const SAID_MS = 1500;

/** Returns whether the text is in the clipboard. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP there is no clipboard object, or it refuses.
    return copySelected(text);
  }
}

/** @param {string} text */
function copySelected(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "reader";
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}

/** @param {() => string} text @param {string} label */
export function copyButton(text, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", label);
  button.addEventListener("click", async () => {
    const isCopied = await copy(text());
    button.textContent = isCopied ? "Copied" : "No access";
    button.dispatchEvent(new CustomEvent("copied", { detail: isCopied }));
    setTimeout(() => (button.textContent = "Copy"), SAID_MS);
  });
  return button;
}
