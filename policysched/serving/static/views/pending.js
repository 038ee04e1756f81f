// The pods that wait for a node, each with its reason.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makePodAddress } from "../routes.js";
import { RejectedBy } from "./node.js";

export function PendingView({ generation }) {
  const { answer, error } = useAnswer(() => ask("pending"), [generation]);
  if (!answer) return html`<${Waiting} error=${error} what="deciding about the pending pods" />`;
  if (answer.total === 0) return html`<h1>Pending pods</h1><p>No pod waits for a node.</p>`;
  const rejects = Object.entries(answer.rejects).sort((one, other) => other[1] - one[1]);
  return html`
    <h1>${formatCount(answer.total, "pending pod")}</h1>
    <p class="quiet">each is decided alone, as if it were the next</p>
    ${rejects.length > 0 &&
    html`<h2>What rejects them</h2>
      <ul class="rejects">
        ${rejects.slice(0, 10).map(([name, count]) => html`<li><${RejectedBy} by=${name} />: rejects ${formatCount(count, "node")}${answer.total > 1 ? ", added up over the pods that fit nowhere" : ""}</li>`)}
      </ul>`}
    <div class="scrolls" tabindex="0" role="region" aria-label="Pending pods">
      <table class="pending">
        <thead><tr><th scope="col">pod</th><th scope="col">profile</th><th scope="col">priority</th><th scope="col">nodes</th><th scope="col">why it waits</th></tr></thead>
        <tbody>
          ${answer.pods.map(
            (row) => html`<tr>
              <th scope="row"><a href=${makePodAddress(row.pod)}>${row.pod}</a></th>
              <td>${row.profile ?? ""}</td>
              <td>${formatNumber(row.priority)}</td>
              <td>${row.feasible === undefined ? "" : formatNumber(row.feasible)}</td>
              <td>${row.fits ? "it fits now, and is not yet scheduled in this listing" : (row.message ?? "not decided: open the pod")}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${answer.total > answer.pods.length && html`<p class="quiet">${formatNumber(answer.total - answer.pods.length)} more pods</p>`}
  `;
}
