// What waits for the server to be there.

import { effect } from "../vendor/signals-core.js";
import { isConnected } from "./session.js";

/** Returns once there is a server, or it is aborted. @param {AbortSignal} aborted */
export async function contact(aborted) {
  let end = () => {};
  await new Promise((resolve) => {
    aborted.addEventListener("abort", resolve);
    end = effect(() => void ((isConnected.value || aborted.aborted) && resolve(0)));
  });
  end();
}
