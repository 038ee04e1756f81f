// What a running scheduler has recorded about one pod: its latest attempts.

import { html } from "../html.js";
import { useEffect, useState } from "../vendor/preact.js";
import { ask, isServedByScheduler } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { computeSpread, formatAge, formatCount, formatDifference, formatMoment, formatNumber, formatTime } from "../numbers.js";
import { makeAddress, makeNodeAddress } from "../routes.js";
import { Links, RejectedBy, breakName, getSourceName } from "./links.js";
import { Funnel, RulesWithoutSamples, PodView } from "./pod.js";
import { Points } from "./points.js";
import { QueuePlace } from "./queue.js";
import { nameDecidingVersion } from "./rollout.js";
import { TableRegion } from "./tables.js";

/** The view of a pod without a listing of the cluster, or with one and the `problem` that it has with the pod. */
export function RecordsView({ pod, status, problem = "" }) {
  const [isPlaced, setIsPlaced] = useState(true); // until a record says so, or its absence
  return html`<article class="pod"><h1>${pod}</h1>
    ${problem && html`<p class="quiet">the listing of the cluster is ${formatAge(status.listing.at, new Date().toISOString())} old; in it: ${problem}</p>`}
    ${!isPlaced && html`<${QueuePlace} pod=${pod} status=${status} />`}
    <${Records} pod=${pod} status=${status} onResult=${(result) => setIsPlaced(result === "scheduled")} />
    ${!isPlaced && html`<${Now} pod=${pod} status=${status} />`}
    ${!isServedByScheduler && html`<p class="quiet">suggestions, and the verdict of a single node, need ${problem ? "a newer listing of the cluster: start policysched ui again" : "a listing of the cluster: start policysched ui with --live and --policies PATH as well"}</p>`}
  </article>`;
}

/** The view of a pod with a listing of the cluster, or of a pod of the demo, and with its records. */
export function ListedPodView({ pod, options, generation, status }) {
  return html`<${PodView} pod=${pod} options=${options} generation=${generation} profiles=${status.profiles}
    notes=${html`<${LatestRecord} pod=${pod} status=${status} />${status.listing && html`<${ListingNotes} pod=${pod} status=${status} />`}`}
    showUnknown=${status.listing && ((error) => html`<${RecordsView} pod=${pod} status=${status} problem=${error.message} />`)}
    records=${html`<h2>Decided by the scheduler</h2><${Records} pod=${pod} status=${status} />`} />`;
}

/** What the scheduler decided last, in one line, as the list of decisions has it. */
function LatestRecord({ pod, status }) {
  const { answer } = useAnswer(() => ask("records", { pod }), [pod, status.decisions]);
  const record = answer?.pod === pod && answer.records[0];
  if (!record) return null;
  const [winner, next] = record.best;
  const decided = `decided by the scheduler at ${formatTime(record.time)}`;
  if (record.node === null) return html`<p>${decided}: fits on none of ${formatCount(record.nodes, "node")}</p>`;
  return html`<p>${decided}: <a href=${makeNodeAddress(record.node)}>${record.node}</a>${next && html`, before <a href=${makeNodeAddress(next)}>${next}</a>: <${MainLead} of=${record.scores[winner]} over=${record.scores[next]} />`}</p>`;
}

/** Names the rule with the largest lead over the next best node. */
function MainLead({ of, over }) {
  if (!of || !over || of.total <= over.total) return "equal points, chosen at random";
  const leads = Object.keys(of).filter((name) => name !== "total").map((name) => [of[name] - over[name], name]);
  const [lead, name] = leads.sort(([one], [other]) => other - one)[0];
  return html`<${RejectedBy} by=${name} /> +${formatNumber(lead)} points${of.total - over.total === lead ? "" : ` (all rules together: ${formatDifference(of.total - over.total)})`}`;
}

/** Where the pod waits, and how the listing differs from what the scheduler knows. */
function ListingNotes({ pod, status }) {
  const { listing, hash } = status;
  const own = listing.hash === "" ? "without policies, because this page has none (start policysched ui with --policies PATH as well)" : `with the policies of the command line (${describeVersion(listing.hash)})`;
  return html`<${QueuePlace} pod=${pod} status=${status} />
    <p class=${listing.hash === hash ? "quiet" : "warning"}>
      decided in a listing that is ${formatAge(listing.at, new Date().toISOString())} old${listing.hash !== hash && `, ${own}; the scheduler uses ${describeVersion(hash)}`}
    </p>`;
}

function describeVersion(hash) {
  return hash ? `version ${hash}` : "none";
}

/** What the scheduler would decide now; it explains only pods that wait. */
function Now({ pod, status }) {
  const { answer, error } = useAnswer(() => ask("now", { pod }), [pod, status.decisions]);
  if (error) return html`<p class="quiet">${error.message}</p>`;
  if (!answer || answer.pod !== pod) return html`<${Waiting} what="asking the scheduler" />`;
  return html`<h2>Now</h2>
    <p class=${answer.feasible > 0 ? "fits" : "rejected"}>
      fits on ${formatNumber(answer.feasible)} of ${formatCount(answer.nodeCount, "node")} ·${" "}
      <a href=${makeAddress(["cluster"], { pod })}>on the map</a>
    </p>
    <${RulesWithoutSamples} rules=${answer.rulesWithoutSamples} />
    <${Funnel} answer=${answer} />
    ${answer.ranking.length > 0 && html`<${Points} answer=${answer} />`}`;
}

export function Records({ pod, status, onResult = () => {} }) {
  const { answer, error } = useAnswer(() => ask("records", { pod }), [pod, status.decisions]);
  useEffect(() => {
    if (answer?.pod === pod) onResult(answer.records[0]?.result);
  }, [answer]);
  if (!answer || answer.pod !== pod) return html`<${Waiting} error=${error} what="reading the records" />`;
  if (answer.records.length === 0) {
    return html`<p>${status.title} has no record of an attempt to schedule this pod. ${status.scheduler ? `Its records begin at ${formatMoment(status.scheduler.startedAt)}, when this process started. ` : ""}It keeps only the latest decisions, and a standby makes none.</p>`;
  }
  return answer.records.map((record, index) => html`<${Record} key=${record.time} record=${record} isNewest=${index === 0} />`);
}

function Record({ record, isNewest }) {
  const title = `attempt ${record.attempt} at ${formatTime(record.time)}`;
  if (!isNewest) {
    return html`<p class="quiet">${title}: ${record.node ?? "none"}${record.message && `, ${record.message}`}</p>`;
  }
  return html`<section class="record">
    <p class=${record.result === "scheduled" ? "fits" : "rejected"}>
      ${record.node === null
        ? `fits on none of ${formatCount(record.nodes, "node")}`
        : html`fits on ${formatNumber(record.feasible)} of ${formatCount(record.nodes, "node")} → <a href=${makeNodeAddress(record.node)}>${record.node}</a>`}
    </p>
    ${record.message && html`<p class="message">${record.message}</p>`}
    <p class="quiet">${title}, ${formatNumber(record.decidedSeconds * 1000)} ms, profile ${record.profile}${record.policies.length ? `, policies ${record.policies.join(", ")} (version ${record.policyHash})` : ""}</p>
    ${record.rolloutStage && html`<p class="quiet">decided by the ${nameDecidingVersion({ stage: record.rolloutStage, hash: record.policyHash })} during the rollout of ${record.rolloutStage}</p>`}
    ${record.skipped?.length > 0 && html`<p class="warning">decided without ${record.skipped.map((name, index) => html`${index > 0 ? ", " : ""}<${RejectedBy} by=${name} />`)}: no node had a valid sample of a metric, so ${record.skipped.length === 1 ? "this rule was" : "these rules were"} skipped</p>`}
    ${record.victims.length > 0 && html`<p>evicts ${record.victims.join(", ")} to make room on ${record.nominatedNode}</p>`}
    ${record.rejections.length > 0 && html`<${RejectedNodes} rejections=${record.rejections} moreAddress=${record.result === "scheduled" ? "" : makeAddress(["cluster"], { pod: record.pod, form: "table" })} />`}
    ${record.best.length > 0 && Object.keys(record.scores).length > 0 && html`<${Scores} record=${record} />`}
    ${record.evidence.length > 0 && html`<h2>Measured values</h2><ul>${record.evidence.map((each) => html`<li>${each}</li>`)}</ul>`}
  </section>`;
}

/** @param moreAddress where all nodes of a pod that waits are, with their reasons: a record has examples */
function RejectedNodes({ rejections, moreAddress }) {
  return html`<h2>What rejected nodes</h2>
    <${TableRegion} label="Rejections"><table class="cards">
      <thead><tr><th scope="col">filter</th><th scope="col">nodes</th><th scope="col">reason</th><th scope="col">examples</th></tr></thead>
      <tbody>
        ${mergeEqual(rejections).map(
          ({ by, reason, nodes, examples }) => html`<tr>
            <th scope="row"><${RejectedBy} by=${by} /></th>
            <td data-title="nodes">${formatNumber(nodes)}</td>
            <td>${reason}</td>
            <td><${Links} names=${examples} more=${nodes - examples.length} makeAddress=${makeNodeAddress} moreAddress=${moreAddress} /></td>
          </tr>`,
        )}
      </tbody>
    </table><//>`;
}

/** Returns rejections with equal texts as one, the most frequent first; they may differ in their codes. */
function mergeEqual(rejections) {
  const lines = new Map();
  for (const each of rejections) {
    const [by, reason] = [getSourceName(each), each.reasons.join("; ")];
    const { nodes = 0, examples = [] } = lines.get(`${by}: ${reason}`) ?? {};
    lines.set(`${by}: ${reason}`, { by, reason, nodes: nodes + each.nodes, examples: [...examples, ...each.examples] });
  }
  return [...lines.values()].sort((one, other) => other.nodes - one.nodes);
}

function Scores({ record }) {
  const names = Object.keys(record.scores[record.best[0]]).filter((name) => name !== "total");
  const rows = names.map((name) => ({ name, of: record.best.map((node) => record.scores[node][name]) }));
  rows.sort((one, other) => computeSpread(other.of) - computeSpread(one.of));
  return html`<h2>Points of the best nodes</h2>
    <${TableRegion} label="Recorded points by rule"><table class="comparison" style=${{ "--columns": record.best.length }}>
      <thead><tr><th scope="col">rule</th>${record.best.map((node) => html`<th scope="col"><a href=${makeNodeAddress(node)}>${breakName(node)}</a></th>`)}</tr></thead>
      <tbody>
        ${rows.map(
          (row) => html`<tr><th scope="row"><${RejectedBy} by=${row.name} /></th>
            ${row.of.map((points) => html`<td>${formatNumber(points)}</td>`)}</tr>`,
        )}
        <tr><th scope="row"><b>total</b></th>${record.best.map((node) => html`<td><b>${formatNumber(record.scores[node].total)}</b></td>`)}</tr>
      </tbody>
    </table><//>`;
}
