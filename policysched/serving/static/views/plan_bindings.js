// The part of a plan about bindings: the field `bindings` of `plan -o json`.

import { html } from "../html.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makePodAddress } from "../routes.js";
import { breakName } from "./links.js";
import { Cause, ChangedGroups, OutcomeCounts } from "./plan_changes.js";

/** The outcomes of bindings in the order of their gravity; see schemas/plan.schema.json. */
const OUTCOMES = {
  unschedulable: ["becomes unschedulable", "become unschedulable"],
  profileRemoved: ["loses its profile", "lose their profile"],
  clusters: ["would move to other clusters", "would move to other clusters"],
  replicas: ["would get other replicas", "would get other replicas"],
  schedulable: ["becomes schedulable", "become schedulable"],
  profileAdded: ["gets a profile", "get a profile"],
  reason: ["stays unscheduled for another reason", "stay unscheduled for another reason"],
  present: ["leaves clusters that it has", "leave clusters that they have"],
};

/** The heads of columns, with what they mean. */
const HEADS = { binding: "the binding", "from → to": "the decisions with the policies in use and with the edited ones" };

export function BindingSummary({ summary }) {
  const counts = Object.keys(OUTCOMES)
    .map((outcome) => ({ outcome, count: summary[outcome] }))
    .filter(({ count }) => count > 0);
  return html`<p>${formatCount(summary.bindings, "binding")}${counts.length === 0 ? ": none changes" : ""}</p>
    <${OutcomeCounts} outcomes=${counts} texts=${OUTCOMES} />
    ${counts.length > 0 && html`<p>decided as if nothing were placed yet; now: ${describePresent(summary, counts.reduce((sum, { count }) => sum + count, 0))}</p>`}
    ${summary.unserved > 0 && html`<p class="quiet">${formatCount(summary.unserved, "binding")} of other schedulers left out</p>`}`;
}

/** Says how many changes are of bindings without clusters, and when those of others show. */
function describePresent({ pending, movesNow }, changed) {
  const parts = [[pending, "pending"], [movesNow, "would change at the next attempt"], [changed - pending - movesNow, "keep the clusters that they have"]];
  return parts.filter(([count]) => count > 0).map(([count, text]) => `${formatNumber(count)} ${text}`).join(", ");
}

export function BindingChanges({ job, groups }) {
  return html`<${ChangedGroups} job=${job} groups=${groups} texts=${OUTCOMES} noun="binding" heads=${HEADS} Row=${BindingRow} />`;
}

function BindingRow({ each }) {
  return html`<tr>
    <th scope="row"><a href=${makePodAddress(each.binding)}>${breakName(each.binding)}</a></th>
    <td>
      <${Shares} each=${each} />
      <p class="quiet">${each.present.length === 0 ? "pending now" : each.movesNow ? "would change at the next attempt" : "keeps the clusters that it has"}</p>
      ${each.cause && html`<p>by <${Cause} cause=${each.cause} /></p>`}
    </td>
  </tr>`;
}

/** The replicas on each cluster of either decision, and now. */
function Shares({ each }) {
  const columns = [each.present, each.from.clusters, each.to.clusters];
  const names = [...new Set(columns.flat().map(({ name }) => name))].sort();
  if (names.length === 0) return html`<p>nowhere → nowhere</p>`;
  const show = (targets, name) => {
    const found = targets.find((target) => target.name === name);
    return found ? (found.replicas === 0 ? "yes" : formatNumber(found.replicas)) : "–";
  };
  return html`<table class="shares">
    <thead><tr><th scope="col">cluster</th><th scope="col">now</th><th scope="col">from</th><th scope="col">to</th></tr></thead>
    <tbody>${names.map((name) => html`<tr><th scope="row">${name}</th>${columns.map((targets) => html`<td>${show(targets, name)}</td>`)}</tr>`)}</tbody>
  </table>${describeClusters(each)}`;
}

/** Names the clusters that a binding loses and gains. */
function describeClusters({ lost, gained }) {
  const parts = [
    ...(lost.length ? [`loses ${lost.join(", ")}`] : []),
    ...(gained.length ? [`gains ${gained.join(", ")}`] : []),
  ];
  return parts.length > 0 && html`<span class="quiet">${parts.join("; ")}</span>`;
}
