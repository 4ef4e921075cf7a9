export { default } from "katex";
