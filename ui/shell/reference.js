// The API's own page, beside this one: an answer that is under way goes on.

export const REFERENCE = "../v1/docs/";

export function openReference() {
  open(REFERENCE, "_blank", "noopener");
}
