// The other tabs of this browser at this page: what one tells, all others hear.

/** @typedef {{kind: string} & Record<string, any>} Message */

// No lock between tabs: that would need a secure context, which a server in the house is not.
const channel = new BroadcastChannel("ignis");
/** @type {Set<(message: Message) => void>} */
const listeners = new Set();
channel.onmessage = (event) => listeners.forEach((listener) => listener(event.data));

/** @param {Message} message */
export function tell(message) {
  channel.postMessage(message);
}

/** Returns what ends the listening. @param {(message: Message) => void} listener */
export function hear(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
