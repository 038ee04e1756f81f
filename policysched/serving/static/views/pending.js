// The pods that wait for a node, each with its reason.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makePodAddress } from "../routes.js";
import { words } from "../words.js";
import { RejectedBy } from "./links.js";
import { SortedTable } from "./sorted_table.js";
import { MoreRows, TableRegion } from "./tables.js";

const MOST_FILTERS = 10;
const MOST_NAMES = 3;

export function PendingView({ generation }) {
  const { answer, error } = useAnswer(() => ask("pending"), [generation]);
  if (!answer) return html`<${Waiting} error=${error} what="deciding about the pending pods" />`;
  if (answer.total === 0) return html`<h1>Pending pods</h1><p>No pod waits for a node.</p>`;
  return html`
    <h1>${formatCount(answer.total, "pending pod")}</h1>
    <p class="quiet">each is decided alone, as if it were the next; a node may have several reasons</p>
    <${Filters} answer=${answer} />
    <${Pods} pods=${answer.pods} />
    <${MoreRows} count=${answer.total} shown=${answer.pods.length} noun="pod" />
  `;
}

/** Shows which filters keep pods pending, or bindings, those that reject the most nodes first. */
export function Filters({ answer }) {
  const [sort, setSort] = useState("-rejects");
  const names = Object.keys(answer.rejectsInAll);
  if (names.length === 0) return null;
  const count = (key, title, of) => ({ key, title, show: (name) => formatNumber(of[name]), rank: (name) => of[name], isNumber: true });
  const columns = [
    { key: "filter", title: "filter", show: (name) => html`<${RejectedBy} by=${name} />`, rank: (name) => name },
    count("pods", `${words.pod}s`, answer.rejectedPods),
    count("rejects", "rejects", answer.rejectsInAll),
    count("first", "first", answer.rejects),
  ];
  return html`<h2>${words.areBindings ? "What rejects the bindings that get no cluster" : "What rejects them"}</h2>
    <p class="quiet">rejects: ${words.node}s that the filter rejects, added up over these ${words.pod}s; first: ${words.node}s that no filter before it rejects</p>
    <${SortedTable} label="Filters" className="rejects" columns=${columns} rows=${names} most=${MOST_FILTERS} sort=${sort} setSort=${setSort} />
    <${MoreRows} count=${names.length} shown=${MOST_FILTERS} noun="filter" />`;
}

function Pods({ pods }) {
  const hasPriorities = pods.some((row) => row.priority !== 0);
  return html`<h2>Pods</h2>
    <${TableRegion} label="Pending pods">
      <table class="pending cards">
        <thead><tr><th scope="col">pod</th><th scope="col">profile</th>${hasPriorities && html`<th scope="col">priority</th>`}<th scope="col">fits on</th><th scope="col">why it waits</th></tr></thead>
        <tbody>
          ${groupByReason(pods).map(
            ([row, ...others]) => html`<tr key=${row.pod}>
              <th scope="row"><${Names} names=${[row, ...others].map(({ pod }) => pod)} /></th>
              <td data-title="profile">${row.profile ?? "none"}</td>
              ${hasPriorities && html`<td data-title="priority">${formatNumber(row.priority)}</td>`}
              <td data-title="fits on">${row.feasible === undefined ? "–" : formatCount(row.feasible, "node")}</td>
              <td>${row.fits ? "it fits now, and is not yet scheduled in this listing" : (row.message ?? "not decided: open the pod")}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    <//>`;
}

/**
 * Returns groups of rows with the same reason: those that fit nowhere first, and large ones. Without
 * `getReason`, rows of a group differ only in their pod.
 */
export function groupByReason(rows, getReason = (row) => ({ ...row, pod: "" })) {
  const groups = new Map();
  for (const row of rows) {
    const key = JSON.stringify(getReason(row));
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].sort((one, other) => Boolean(one[0].fits) - Boolean(other[0].fits) || other.length - one.length);
}

/** Names the pods of one row: the first ones, and the others on demand. */
export function Names({ names }) {
  const link = (name) => html`<li><a href=${makePodAddress(name)}>${name}</a></li>`;
  if (names.length === 1) return html`<a href=${makePodAddress(names[0])}>${names[0]}</a>`;
  return html`<b>${formatCount(names.length, words.pod)}</b>
    <ul>${names.slice(0, MOST_NAMES).map(link)}</ul>
    ${names.length > MOST_NAMES && html`<details><summary>${formatNumber(names.length - MOST_NAMES)} more</summary><ul>${names.slice(MOST_NAMES).map(link)}</ul></details>`}`;
}
