// The choice of nodes with enough free, which the map and the tables then show alone.

import { html } from "../html.js";
import { useEffect, useState } from "../vendor/preact.js";
import { countClosed, formatFreeAmounts, parseFreeAmounts } from "../free_amounts.js";
import { formatCount, formatNumber } from "../numbers.js";
import { words } from "../words.js";

/**
 * @param groups the groups with only the nodes that are shown
 * @param all the groups with all nodes
 */
export function FreeFilter({ cluster, settings, groups, all, change }) {
  const { free, freeText, freeProblem, isUsable } = settings;
  const shown = freeProblem ? freeText : free.map(({ resource, quantity }) => `${resource} ${quantity}`).join(", ");
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  const choose = (event) => {
    event.preventDefault();
    const { amounts, problem } = parseFreeAmounts(cluster, settings.fill, text);
    change({ free: problem ? text : formatFreeAmounts(amounts) });
  };
  const [nodes, known] = [groups, all].map((each) => each.flatMap(({ members }) => members));
  const isFiltered = free.length > 0 || isUsable;
  return html`<form class="settings" onSubmit=${choose}>
    <label>at least <input name="free" size="20" value=${text} onInput=${(event) => setText(event.target.value)} placeholder="cpu 4, memory 8Gi" autocomplete="off" spellcheck=${false} /> free</label>
    <button>filter</button>
    ${(free.length > 0 || freeProblem) && html`<button type="button" onClick=${() => change({ free: "" })}>all ${words.node}s</button>`}
    ${countClosed(cluster, known) > 0 && html`<label><input type="checkbox" checked=${isUsable} onChange=${() => change({ usable: isUsable ? "" : "1" })} /> without cordoned, not ready or tainted ${words.node}s</label>`}
    ${freeProblem && html`<span class="error" role="alert">${freeProblem}</span>`}
    ${isFiltered && html`<span class="quiet">${formatNumber(nodes.length)} of ${formatCount(known.length, words.node)}<${Closed} count=${countClosed(cluster, nodes)} />. This counts free amounts only: policies${isUsable ? "" : ", taints"} and labels are not considered.</span>`}
  </form>`;
}

/** Says how many of the shown nodes take no ordinary pod. */
function Closed({ count }) {
  return count > 0 && html`; of these, ${formatNumber(count)} ${count === 1 ? "is" : "are"} cordoned, not ready or tainted`;
}
