// The queues of a running scheduler: which pods wait, since when and for what.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatAge, formatCount, formatNumber } from "../numbers.js";
import { makeAddress, makeNodeAddress, makePodAddress } from "../routes.js";
import { MoreRows, TableRegion } from "./tables.js";

const MEANINGS = {
  active: "ready to be tried",
  backoff: "pauses after a failed attempt",
  unschedulable: "waits for a change that may help",
  gated: "held back by a gate",
};

export function QueueView({ options, generation }) {
  const { answer, error } = useAnswer(() => ask("queue"), [generation]);
  if (!answer) return html`<h1>Pending pods</h1><${Waiting} error=${error} what="reading the queues" />`;
  const chosen = options.get("queue") ?? "";
  const total = Object.values(answer.total).reduce((sum, count) => sum + count, 0);
  const pods = answer.pods.filter((each) => chosen === "" || each.queue === chosen);
  return html`
    <h1>${formatCount(total, "pending pod")}</h1>
    <p class="quiet">${formatCount(answer.inFlight, "pod")} in flight: being scheduled or bound</p>
    <nav class="legend" aria-label="Queues">
      ${Object.entries(answer.total).map(
        ([name, count]) => html`<a href=${makeAddress(["pending"], { queue: chosen === name ? "" : name })}
          aria-current=${chosen === name ? "true" : undefined} title=${MEANINGS[name] ?? ""}>${name} ${formatNumber(count)}</a>`,
      )}
    </nav>
    ${total === 0 ? html`<p>No pod waits for a node.</p>` : html`<${Pods} pods=${pods} now=${answer.now} />`}
    <${MoreRows} count=${total} shown=${answer.pods.length} noun="pod" />
  `;
}

/** Says where one pod waits; nothing if it is in no queue. */
export function QueuePlace({ pod, status }) {
  const { answer } = useAnswer(() => ask("queue"), [pod, status.decisions]);
  const found = answer?.pods.find((each) => each.pod === pod);
  if (!found) return null;
  return html`<p>
    in the queue <a href=${makeAddress(["pending"], { queue: found.queue })}>${found.queue}</a>${" "}
    (${MEANINGS[found.queue] ?? ""}${found.backoffUntil && html`, for ${formatAge(answer.now, found.backoffUntil)} more`})${" "}
    for ${formatAge(found.since, answer.now)}, after ${formatCount(found.attempts, "attempt")}
  </p>`;
}

function Pods({ pods, now }) {
  const hasPriorities = pods.some((pod) => pod.priority !== 0);
  return html`<${TableRegion} label="Pending pods">
    <table class="pending cards">
      <thead><tr><th scope="col">pod</th><th scope="col">queue</th><th scope="col">since</th><th scope="col">attempts</th>${hasPriorities && html`<th scope="col">priority</th>`}<th scope="col">rejected by</th><th scope="col">why it waits</th></tr></thead>
      <tbody>${pods.map((pod) => html`<${Pod} key=${pod.uid} pod=${pod} now=${now} hasPriorities=${hasPriorities} />`)}</tbody>
    </table>
  <//>`;
}

function Pod({ pod, now, hasPriorities }) {
  return html`<tr>
    <th scope="row"><a href=${makePodAddress(pod.pod)}>${pod.pod}</a></th>
    <td data-title="queue">${pod.queue}${pod.backoffUntil && html`<span class="quiet"> for ${formatAge(now, pod.backoffUntil)} more</span>`}</td>
    <td data-title="since" title=${pod.since}>${formatAge(pod.since, now)}</td>
    <td data-title="attempts">${formatNumber(pod.attempts)}</td>
    ${hasPriorities && html`<td data-title="priority">${formatNumber(pod.priority)}</td>`}
    <td data-title="rejected by">${pod.plugins.join(", ") || "–"}</td>
    <td>
      ${pod.message || (pod.attempts === 0 ? "not tried yet" : "")}
      ${pod.nominatedNode && html`<span> (victims make room on <a href=${makeNodeAddress(pod.nominatedNode)}>${pod.nominatedNode}</a>)</span>`}
    </td>
  </tr>`;
}
