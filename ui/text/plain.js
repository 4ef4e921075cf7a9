// An answer as plain text: its words without the marks of Markdown, lists and tables as lines.

import { build } from "./build.js";
import { outline, read } from "./markdown.js";

/** @param {string} source */
export function plainOf(source) {
  const env = { references: {} };
  const built = build(read(outline(source, env), env));
  return `${[...built.childNodes].map((node) => linesOf(node, "")).join("\n\n")}\n`;
}

/** @param {Node} node @param {string} indent @returns {string} */
function linesOf(node, indent) {
  if (!(node instanceof HTMLElement)) return node.textContent ?? "";
  if (node.matches("figure.code")) return (node.querySelector("code")?.textContent ?? "").replace(/\n$/, "");
  if (node.matches(".table-box")) return [...node.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent).join("\t")).join("\n");
  if (node.matches("ul, ol")) {
    const first = Number(node.getAttribute("start") ?? 1);
    return [...node.children].map((item, index) => itemOf(item, node.tagName === "OL" ? `${first + index}.` : "-", indent)).join("\n");
  }
  if (node.tagName === "BLOCKQUOTE") return [...node.children].map((child) => linesOf(child, indent)).join("\n\n");
  return node.textContent ?? "";
}

/** @param {Element} item @param {string} mark @param {string} indent */
function itemOf(item, mark, indent) {
  let words = "";
  for (const child of item.childNodes) {
    const isInner = child instanceof HTMLElement && child.matches("ul, ol, figure, p, blockquote");
    const text = child instanceof HTMLElement && child.matches(".task") ? `[${child.matches(".done") ? "x" : " "}] ` : linesOf(child, `${indent}  `);
    words += isInner && words ? `\n${text}` : text;
  }
  return `${indent}${mark} ${words}`;
}
