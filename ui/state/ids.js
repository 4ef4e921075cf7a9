// Names that nothing else has: 128 random bits, without an API that needs a secure context.

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A seed that JSON carries exactly and a person can type. */
export function newSeed() {
  return crypto.getRandomValues(new Uint32Array(1))[0];
}
