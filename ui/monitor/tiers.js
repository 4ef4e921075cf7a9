// Where KV pages are: on the device, in host memory, on disk.

import { bytes, count, shapeOf } from "../parts/format.js";
import { html } from "../parts/html.js";
import { ring } from "../state/samples.js";

/** @param {{last: number}} properties */
export function Tiers({ last }) {
  const at = (/** @type {string} */ key) => ring.at(key, last);
  const used = at("ignis_kv_pool_used_pages");
  const retained = at("ignis_kv_pool_retained_pages");
  const pages = at("ignis_kv_pool_pages");
  const page = at("ignis_kv_page_bytes");
  const words = Number.isFinite(retained) ? `live ${count(used - retained)} · retained ${count(retained)}` : "those retained for reuse included";
  const arena = at('ignis_kv_ram_arena_bytes{state="capacity"}');
  const kept = at('ignis_kv_ram_arena_bytes{state="used"}');
  const out = at('ignis_retained_state_spills_total{tier="device"}');
  const back = at('ignis_retained_state_restores_total{tier="kv_ram"}');
  const parks = at("ignis_kv_lane_parks_total");
  return html`<div class="tiers">
    <${Tier} label="KV pages in the pool" share=${used / pages} figure=${`${count(used)} of ${count(pages)}`} words=${pages > 0 ? words : "no model is loaded"} title=${page > 0 ? `${bytes(page)} a page` : ""} />
    ${Number.isFinite(arena) && html`<${Tier} label="In host memory" share=${kept / arena} figure=${arena > 0 ? `${bytes(kept)} of ${bytes(arena)}` : "off"}
      words=${arena > 0 ? (out > 0 || parks > 0 ? `${count(parks)} parked · ${count(out)} pages out, ${count(back)} back` : "never used") : html`<a href="#/server/config/reuse.kv_host_pool_bytes">reuse.kv_host_pool_bytes</a> gives it room`} />`}
  </div>`;
}

/** @param {{label: string, share: number, figure: string, words: unknown, title?: string}} properties */
function Tier({ label, share, figure, words, title = "" }) {
  const value = Math.min(1, Math.max(0, share || 0));
  return html`<div class="tier" title=${title}>
    <p><span>${label}</span><span class="quiet" key=${shapeOf(figure)}>${figure}</span></p>
    <div class="gauge" role="img" aria-label=${`${Math.round(value * 100)} % used`}><span style=${{ width: `${value * 100}%` }}></span></div>
    <p class="quiet">${words}</p>
  </div>`;
}
