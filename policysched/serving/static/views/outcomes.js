// The bindings that get no clusters, or other ones than they have; the gravest first.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makePodAddress } from "../routes.js";
import { formatTargets } from "../targets.js";
import { Filters } from "./pending.js";
import { OutcomeSection } from "./tables.js";

/** See `BindingOutcome`. */
const OUTCOMES = {
  nowhere: ["has no clusters, and gets none", "have no clusters, and get none"],
  losesAll: ["has clusters, and would get none", "have clusters, and would get none"],
  waits: ["has no clusters yet, and would get some", "have no clusters yet, and would get some"],
  moves: ["would get other clusters or replicas", "would get other clusters or replicas"],
};

export function OutcomesView({ generation }) {
  const [part, setPart] = useState(0);
  const { answer, error, isWaiting } = useAnswer(() => ask("pending"), [generation, part]);
  if (!answer) return html`<h1>Bindings</h1><${Waiting} error=${error} what="deciding about the bindings" />`;
  const left = answer.bindings - answer.decided;
  return html`
    <h1>Bindings without clusters, and bindings that would move</h1>
    <p class="quiet">Each is decided alone, starting from its present clusters. Karmada decides again about a placed binding only after a change.</p>
    ${left > 0 && html`<p>${formatNumber(answer.decided)} of ${formatCount(answer.bindings, "binding")} are decided. <button disabled=${isWaiting} onClick=${() => setPart(part + 1)}>decide more</button></p>`}
    ${answer.total === 0 && html`<p>${left > 0 ? "All of these" : `All ${formatCount(answer.bindings, "binding")}`} keep their clusters and replicas.</p>`}
    ${Object.entries(OUTCOMES).map(
      ([outcome, texts]) => answer.counts[outcome] > 0 && html`<${OutcomeTable} texts=${texts} count=${answer.counts[outcome]} rows=${answer.pods.filter((row) => row.outcome === outcome)} />`,
    )}
    <${Filters} answer=${answer} />
  `;
}

/** @param rows the bindings that the answer names, which are the first of `count` */
function OutcomeTable({ texts, count, rows }) {
  return html`<${OutcomeSection} Heading="h2" noun="binding" texts=${texts} count=${count} shown=${rows.length}>
    <table class="bindings cards">
      <thead><tr><th scope="col">binding</th><th scope="col">now</th><th scope="col">decided</th><th scope="col">scheduler</th></tr></thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr>
            <th scope="row"><a href=${makePodAddress(row.pod)}>${row.pod}</a></th>
            <td data-title="now">${formatTargets(row.present)}</td>
            <td>${row.isSuspended ? "suspended; " : ""}${row.message || `goes to ${formatTargets(row.shares)}`}</td>
            <td data-title="scheduler">${row.profile}${row.priority === 0 ? "" : `, priority ${formatNumber(row.priority)}`}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  <//>`;
}
