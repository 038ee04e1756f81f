// The decisions of a scheduler that the page can follow, newest first.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatNumber } from "../numbers.js";
import { makeNodeAddress, makePodAddress } from "../routes.js";

export function DecisionsView({ status }) {
  const { answer, error } = useAnswer(() => ask("decisions"), [status.decisions, status.generation]);
  if (!answer) return html`<${Waiting} error=${error} what="reading the decisions" />`;
  if (answer.rows.length === 0) {
    return html`<h1>Decisions</h1><p>${status.title} has no scheduler that the page could follow. <a href="#/pending">Pending</a> shows what would be decided.</p>`;
  }
  return html`
    <h1>Decisions</h1>
    <div class="scrolls" tabindex="0" role="region" aria-label="Decisions">
      <table class="decisions">
        <thead><tr><th scope="col">#</th><th scope="col">pod</th><th scope="col">node</th><th scope="col">fits on</th><th scope="col">profile</th><th scope="col">why nowhere</th></tr></thead>
        <tbody>
          ${[...answer.rows].reverse().map(
            (row) => html`<tr class=${row.node === null ? "failed" : ""}>
              <td>${formatNumber(row.number)}</td>
              <th scope="row"><a href=${makePodAddress(row.pod)}>${row.pod}</a></th>
              <td>${row.node === null ? "nowhere" : html`<a href=${makeNodeAddress(row.node)}>${row.node}</a>`}</td>
              <td>${formatNumber(row.feasible)} of ${formatNumber(row.node_count)}</td>
              <td>${row.profile}</td>
              <td>${row.message}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${answer.missed > 0 && html`<p class="quiet">${formatNumber(answer.missed)} earlier decisions</p>`}
  `;
}
