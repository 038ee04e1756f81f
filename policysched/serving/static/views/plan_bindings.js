// The part of a plan about bindings: the field `bindings` of `plan -o json`.

import { html } from "../html.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makePodAddress } from "../routes.js";
import { formatTargets } from "../targets.js";
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
    <${OutcomeCounts} outcomes=${counts} texts=${OUTCOMES}>
      ${summary.movesNow > 0 && html`<li><b>${formatNumber(summary.movesNow)}</b> of them as early as the next attempt</li>`}
    <//>
    ${summary.unserved > 0 && html`<p class="quiet">${formatCount(summary.unserved, "binding")} of other schedulers left out</p>`}`;
}

export function BindingChanges({ job, groups }) {
  return html`<${ChangedGroups} job=${job} groups=${groups} texts=${OUTCOMES} noun="binding" heads=${HEADS} Row=${BindingRow} />`;
}

function BindingRow({ each }) {
  return html`<tr>
    <th scope="row"><a href=${makePodAddress(each.binding)}>${breakName(each.binding)}</a></th>
    <td>
      ${formatFate(each.from)} → ${formatFate(each.to)}${describeClusters(each)}
      <p class="quiet">now: ${formatTargets(each.present)}</p>
      ${each.cause && html`<p>by <${Cause} cause=${each.cause} /></p>`}
    </td>
  </tr>`;
}

function formatFate(fate) {
  return fate.message ? "nowhere" : formatTargets(fate.clusters);
}

/** Names the clusters that a binding loses and gains. */
function describeClusters({ lost, gained }) {
  const parts = [
    ...(lost.length ? [`loses ${lost.join(", ")}`] : []),
    ...(gained.length ? [`gains ${gained.join(", ")}`] : []),
  ];
  return parts.length > 0 && html`<br /><span class="quiet">${parts.join("; ")}</span>`;
}
