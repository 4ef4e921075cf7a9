export { default } from "markdown-it";
/** Characters by how they are written, `&amp;` and all. */
export const named: Map<string, string>;
