// How high a block will be about, before anybody has drawn it.

const CHARACTER_PX = 7.7;
const LINE_PX = 24.3;
const GAP_PX = 12;
const CODE_LINE_PX = 20.2;
const CODE_FRAME_PX = 60;
const ROW_PX = 37;
const FORMULA_PX = 60;
const DEFAULT_WIDTH_PX = 720;

/**
 * In px. block: its tokens; source: its text; width of the column in px, 0 where it is not known.
 * @param {any[]} block @param {string} source @param {number} width
 */
export function heightOf(block, source, width) {
  const perLine = perLineOf(width);
  const lines = source.replace(/\n+$/, "").split("\n");
  switch (block[0].type) {
    case "fence":
    case "code_block":
      return CODE_FRAME_PX + (lines.length - 2) * CODE_LINE_PX;
    case "table_open":
      return (lines.length - 1) * ROW_PX + GAP_PX;
    case "formula_block":
      return FORMULA_PX + GAP_PX;
    case "reference_definition":
      return 0;
    case "bullet_list_open":
    case "ordered_list_open":
    case "blockquote_open":
      return lines.reduce((sum, line) => sum + Math.ceil(line.length / perLine) * (LINE_PX + 3), GAP_PX);
    default:
      return Math.ceil(source.length / perLine) * LINE_PX + GAP_PX;
  }
}

/** The same for a text that nobody has read yet. @param {string} source @param {number} width */
export function roughHeightOf(source, width) {
  const perLine = perLineOf(width);
  let isCode = false;
  let sum = 0;
  for (let at = 0, next = 0; at < source.length; at = next) {
    next = source.indexOf("\n", at) + 1 || source.length;
    if (source.startsWith("```", at)) {
      isCode = !isCode;
      sum += CODE_FRAME_PX / 2;
    } else if (isCode) sum += CODE_LINE_PX;
    else if (source[at] === "|") sum += ROW_PX;
    else sum += source[at] === "\n" ? GAP_PX : Math.ceil((next - at) / perLine) * LINE_PX;
  }
  return sum;
}

/** Characters. @param {number} width in px */
function perLineOf(width) {
  return (width || DEFAULT_WIDTH_PX) / CHARACTER_PX;
}
