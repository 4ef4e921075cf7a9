// Templates of the chrome. Importing it also makes components follow the signals that they read.

import "../vendor/signals.js";
import htm from "../vendor/htm.js";
import { h } from "../vendor/preact.js";

export const html = htm.bind(h);
