export { default } from "@highlightjs/cdn-assets/es/core.min.js";
