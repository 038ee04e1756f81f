// The queues of a running scheduler: which pods wait, for how long and for what.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatAge, formatCount, formatNumber } from "../numbers.js";
import { makeAddress, makeNodeAddress } from "../routes.js";
import { RejectedBy } from "./links.js";
import { Names, groupByReason } from "./pending.js";
import { MoreRows, TableRegion } from "./tables.js";

const MOST_FILTERS = 3;
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
    <${Unserved} answer=${answer} />
  `;
}

/** Says where one pod waits; nothing if it is in no queue. */
export function QueuePlace({ pod, status }) {
  const { answer } = useAnswer(() => ask("queue"), [pod, status.decisions]);
  const found = answer?.pods.find((each) => each.pod === pod);
  if (!found) return null;
  const retry = found.retryAt && `, tried again ${formatRetry(found, answer.now)} at the latest`;
  return html`<p>
    in the queue <a href=${makeAddress(["pending"], { queue: found.queue })}>${found.queue}</a>${" "}
    (${describeQueue(found)}), pending for ${formatAge(findStart(found), answer.now)}, after ${formatCount(found.attempts, "attempt")}${retry}
  </p>`;
}

function describeQueue({ queue, gates }) {
  return queue === "gated" && gates.length > 0 ? `held back by ${gates.join(", ")}` : (MEANINGS[queue] ?? "");
}

/** Returns since when a pod is pending: since its creation, if the scheduler says when this was. */
function findStart({ createdAt, since }) {
  return createdAt || since;
}

/** Returns when a timer lets a pod be tried again, as `in 4 min`; "" without a timer. */
function formatRetry({ retryAt, backoffUntil }, now) {
  const at = retryAt || backoffUntil; // an older scheduler knows only the latter
  return at && `in ${formatAge(now, at)}`;
}

function Pods({ pods, now }) {
  const hasPriorities = pods.some((pod) => pod.priority !== 0);
  return html`<${TableRegion} label="Pending pods">
    <table class="pending cards">
      <thead><tr><th scope="col">pod</th><th scope="col">queue</th><th scope="col">pending for</th><th scope="col">attempts</th><th scope="col">next at the latest</th>${hasPriorities && html`<th scope="col">priority</th>`}<th scope="col">rejected by</th><th scope="col">why it waits</th></tr></thead>
      <tbody>${groupByReason(pods, getReason).map((group) => html`<${Group} key=${group[0].uid} pods=${group} now=${now} hasPriorities=${hasPriorities} />`)}</tbody>
    </table>
  <//>`;
}

/** Returns what is equal for the pods of one row. */
function getReason({ queue, priority, plugins, rejectedBy, gates, message, attempts, nominatedNode }) {
  return { queue, priority, plugins, rejectedBy, gates, message, isNew: attempts === 0, nominatedNode };
}

/** Pods that wait for the same reason. */
function Group({ pods, now, hasPriorities }) {
  const [pod] = pods;
  const oldest = pods.map(findStart).sort()[0];
  const attempts = pods.map((each) => each.attempts);
  const retries = [...pods].sort((one, other) => one.retryAt.localeCompare(other.retryAt)).map((each) => formatRetry(each, now));
  return html`<tr>
    <th scope="row"><${Names} names=${pods.map((each) => each.pod)} /></th>
    <td data-title="queue">${pod.queue}</td>
    <td data-title="pending for" title=${oldest}>${pods.length > 1 ? "up to " : ""}${formatAge(oldest, now)}</td>
    <td data-title="attempts">${formatRange(formatNumber(Math.min(...attempts)), formatNumber(Math.max(...attempts)))}</td>
    <td data-title="next at the latest">${formatRange(retries[0], retries.at(-1)) || "–"}</td>
    ${hasPriorities && html`<td data-title="priority">${formatNumber(pod.priority)}</td>`}
    <td class="names" data-title="rejected by"><${Rejecting} pod=${pod} /></td>
    <td>
      ${pod.message || (pod.queue === "gated" ? describeQueue(pod) : pod.attempts === 0 ? "not tried yet" : "")}
      ${pod.nominatedNode && html`<span> (victims make room on <a href=${makeNodeAddress(pod.nominatedNode)}>${pod.nominatedNode}</a>)</span>`}
    </td>
  </tr>`;
}

function formatRange(least, most) {
  return least === most ? least : `${least} to ${most}`;
}

/** Names the rules and plugins that rejected nodes, those that rejected the most first. */
function Rejecting({ pod }) {
  const names = pod.rejectedBy.length > 0 ? pod.rejectedBy : pod.plugins; // the decision may be kept no more
  if (names.length === 0) return "–";
  return names.slice(0, MOST_FILTERS).map((name, index) => html`${index > 0 ? ", " : ""}<${RejectedBy} by=${name} />`);
}

/** Names the pods that this scheduler does not schedule, because no profile has their schedulerName. */
function Unserved({ answer }) {
  if (answer.unservedCount === 0) return null;
  const byName = new Map();
  for (const { pod, schedulerName } of answer.unserved) byName.set(schedulerName, [...(byName.get(schedulerName) ?? []), pod]);
  return html`<h2>${formatCount(answer.unservedCount, "pod")} without a node that no profile here serves</h2>
    <p class="quiet">another scheduler may serve their schedulerName, or it is misspelt</p>
    <table class="pending">
      <thead><tr><th scope="col">schedulerName</th><th scope="col">pods</th></tr></thead>
      <tbody>${[...byName].map(([name, pods]) => html`<tr><th scope="row">${name}</th><td><${Names} names=${pods} /></td></tr>`)}</tbody>
    </table>
    <${MoreRows} count=${answer.unservedCount} shown=${answer.unserved.length} noun="pod" />`;
}
