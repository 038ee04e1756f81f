// The bindings without clusters, and placed ones that a new decision would change.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { formatTargets } from "../targets.js";
import { Filters, Names, groupByReason } from "./pending.js";
import { OutcomeSection } from "./tables.js";

/** The outcomes in their order: the noun, and the words for one binding and for several; see `BindingOutcome`. */
const OUTCOMES = {
  nowhere: ["pending binding", ["gets no cluster", "get no cluster"]],
  waits: ["pending binding", ["would get clusters", "would get clusters"]],
  losesAll: ["placed binding", ["would lose all its clusters", "would lose all their clusters"]],
  moves: ["placed binding", ["would get other clusters or replicas", "would get other clusters or replicas"]],
};

export function OutcomesView({ generation }) {
  const [part, setPart] = useState(0);
  const { answer, error, isWaiting } = useAnswer(() => ask("pending"), [generation, part]);
  if (!answer) return html`<h1>Bindings</h1><${Waiting} error=${error} what="deciding about the bindings" />`;
  const left = answer.bindings - answer.decided;
  return html`
    <h1>Pending bindings, and placed ones that would change</h1>
    <p class="quiet">A pending binding has no clusters. Each binding is decided alone, starting from its present clusters. Karmada decides again about a placed binding only after a change.</p>
    ${left > 0 && html`<p>${formatNumber(answer.decided)} of ${formatCount(answer.bindings, "binding")} are decided. <button disabled=${isWaiting} onClick=${() => setPart(part + 1)}>decide more</button></p>`}
    ${answer.total === 0 && html`<p>${left > 0 ? "All of these" : `All ${formatCount(answer.bindings, "binding")}`} keep their clusters and replicas.</p>`}
    ${Object.entries(OUTCOMES).map(
      ([outcome, [noun, texts]]) => answer.counts[outcome] > 0 && html`<${OutcomeTable} noun=${noun} texts=${texts} count=${answer.counts[outcome]} rows=${answer.pods.filter((row) => row.outcome === outcome)} />`,
    )}
    <${Filters} answer=${answer} />
  `;
}

/** @param rows the bindings that the answer names, which are the first of `count` */
function OutcomeTable({ noun, texts, count, rows }) {
  return html`<${OutcomeSection} noun=${noun} texts=${texts} count=${count} shown=${rows.length}>
    <table class="pending bindings cards">
      <thead><tr><th scope="col">binding</th><th scope="col">now</th><th scope="col">decided</th><th scope="col">scheduler</th></tr></thead>
      <tbody>
        ${groupByReason(rows).map(
          ([row, ...others]) => html`<tr key=${row.pod}>
            <th scope="row"><${Names} names=${[row, ...others].map(({ pod }) => pod)} /></th>
            <td data-title="now">${formatTargets(row.present)}</td>
            <td>${row.isSuspended ? "suspended; " : ""}${row.message || `would go to ${formatTargets(row.shares)}`}</td>
            <td data-title="scheduler">${row.profile}${row.priority === 0 ? "" : `, priority ${formatNumber(row.priority)}`}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  <//>`;
}
