// A wait that can be broken off.

/** Returns after so long, or at once when it is aborted. @param {number} ms @param {AbortSignal} aborted */
export function pause(ms, aborted) {
  return new Promise((resolve) => {
    if (aborted.aborted) return resolve(undefined);
    const end = () => {
      clearTimeout(timer);
      aborted.removeEventListener("abort", end);
      resolve(undefined);
    };
    const timer = setTimeout(end, ms);
    aborted.addEventListener("abort", end);
  });
}
