// The dialogs that are open.

import { signal } from "../vendor/signals-core.js";

/** How many. Beside them nothing can be used: what is offered is offered in them. */
export const numModal = signal(0);
