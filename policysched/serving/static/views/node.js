// One node: amounts, labels, taints, pods; with a pod, why the node takes it or not.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, makeLazy, useAnswer } from "../loading.js";
import { findUnit, formatAmount, formatCount, formatNumber, formatScaled, formatSeconds, formatShare, formatTime } from "../numbers.js";
import { getCurrentPod, makeAddress, makeNodeAddress, makePodAddress } from "../routes.js";
import { describeComparison } from "../targets.js";
import { words } from "../words.js";
import { RejectedBy, breakName, getSourceName } from "./links.js";
import { MoreRows, ShareBar, TableRegion } from "./tables.js";

const ClusterChanges = makeLazy(() => import("./cluster_changes.js"), "ClusterChanges");

export function NodeView({ node, generation }) {
  return html`<article class="node"><${NodePanel} node=${node} pod="" generation=${generation} isAlone=${true} /></article>`;
}

export function NodePanel({ node, pod, generation, isAlone = false }) {
  const { answer, error } = useAnswer(() => ask("node", { name: node }), [node, generation]);
  if (!answer || answer.node !== node) return html`<${Waiting} error=${error} what=${`reading the ${words.node}`} />`;
  const open = getCurrentPod();
  const [Title, PartTitle] = isAlone ? ["h1", "h2"] : ["h2", "h3"];
  return html`
    <${Title}>${isAlone ? breakName(answer.node) : html`<a href=${makeNodeAddress(node)}>${breakName(answer.node)}</a>`}<//>
    ${isAlone && html`<p>${open && html`<a href=${makePodAddress(open)}>back to ${open}</a> · `}<a href=${makeAddress(["cluster"], { pod: open, node })}>on the map</a></p>`}
    ${answer.isCordoned && html`<p class="warning">cordoned: no new ${words.pod}s</p>`}
    ${answer.conditions.filter(isBad).map((each) => html`<p class="warning">condition ${each.type}: ${each.status}</p>`)}
    ${pod && html`<${Verdict} pod=${pod} node=${node} generation=${generation} />`}
    <${Amounts} answer=${answer} />
    <${Pairs} Title=${PartTitle} title="fields" pairs=${Object.entries(answer.fields ?? {})} />
    <${Pairs} Title=${PartTitle} title="taints" pairs=${answer.taints.map((taint) => [taint.key, `${taint.value}:${taint.effect}`])} />
    <${Pairs} Title=${PartTitle} title="conditions" pairs=${answer.conditions.map((each) => [each.type, each.status])} />
    <${PartTitle}>${words.areBindings ? formatCount(answer.podCount, words.pod) : `${formatNumber(answer.podCount)} of ${formatNumber(answer.allowedPods)} pods`}<//>
    ${answer.podCount > 0 && html`<${Pods} answer=${answer} />`}
    <${MoreRows} count=${answer.podCount} shown=${answer.pods.length} noun=${words.pod} />
    ${isAlone && words.areBindings && html`<${ClusterChanges} cluster=${node} generation=${generation} />`}
    <${Pairs} Title=${PartTitle} title="labels" pairs=${Object.entries(answer.labels)} />
  `;
}

/** Returns whether a condition of a node is not as it should be: only Ready should be true. */
function isBad({ type, status }) {
  return type === "Ready" ? status !== "True" : status === "True";
}

/** Lists pods with their requests, those with the largest share of a resource first. */
function Pods({ answer }) {
  const columns = Object.entries(answer.requests).map(([name, amounts]) => {
    const [size, unit] = findUnit(name, Math.max(...amounts));
    return { name, unit, texts: amounts.map((amount) => (amount === 0 ? "–" : formatScaled(amount / size))) };
  });
  return html`<${TableRegion} label=${words.areBindings ? "Bindings and their replicas" : "Pods and their requests"}><table class="pods">
    <thead><tr>
      <th scope="col">${words.pod}, largest first</th>
      ${columns.map(({ name, unit }) => html`<th scope="col">${name}${unit && `, ${unit}`}</th>`)}
    </tr></thead>
    <tbody>
      ${answer.pods.map(
        (key, index) => html`<tr>
          <th scope="row"><a href=${makePodAddress(key)}>${key}</a></th>
          ${columns.map(({ texts }) => html`<td>${texts[index]}</td>`)}
        </tr>`,
      )}
    </tbody>
  </table><//>`;
}

function Verdict({ pod, node, generation }) {
  const { answer, error } = useAnswer(() => ask("compare", { pod, node }), [pod, node, generation]);
  if (!answer || answer.node !== node) return html`<${Waiting} error=${error} what="asking the filters" />`;
  if (answer.fits && words.areBindings) return html`<p class="fits">${pod}: ${node} ${describeComparison(answer)}</p>`;
  const points = answer.points ? `: ${formatNumber(answer.points.total)} points` : "";
  const now = answer.isOnNode ? "decided now, it" : pod;
  return html`
    ${answer.isOnNode && html`<p class="fits">${pod} is on this node</p>`}
    ${answer.fits
      ? html`<p class="fits">${now} ${answer.isOnNode ? "would fit" : "fits"}${points}</p>`
      : html`<p class="rejected">${now} ${answer.isOnNode ? "would be" : "is"} rejected by</p><${Rejections} rejections=${answer.rejections} />`}
  `;
}

/** Lists the rejections of one node, with the values that were seen. */
export function Rejections({ rejections }) {
  return html`<ul class="rejections">
    ${rejections.map(
      (each) => html`<li>
        <${RejectedBy} by=${getSourceName(each)} />: ${each.reason}
        ${(each.evidence || each.measured) && html`<span class="quiet"> (${each.evidence || each.measured})</span>`}
      </li>`,
    )}
  </ul>`;
}

function Amounts({ answer }) {
  const samples = listSamples(answer);
  const missing = samples.filter(([, { state }]) => state === "missing").map(([name]) => name);
  return html`<table class="amounts">
    ${Object.entries(answer.resources).map(
      ([name, { used, of }]) => html`<tr>
        <th scope="row">${name}</th>
        <td>${formatAmount(name, used, of)} of ${formatAmount(name, of)}</td>
        <${ShareBar} part=${used} of=${of} />
        <td>${formatShare(used, of)}</td>
        <td>${formatAmount(name, of - used, of)} free</td>
      </tr>`,
    )}
    ${samples.filter(([name]) => !missing.includes(name)).map(
      ([name, sample]) => html`<tr>
        <th scope="row">${name}</th>
        <td class=${sample.state === "ok" ? "measured" : "measured rejected"} colspan="4">${describeSample(sample)}</td>
      </tr>`,
    )}
    ${missing.length > 0 && html`<tr><th scope="row">no sample</th><td class="measured quiet" colspan="4">${missing.join(", ")}: missing for the rules</td></tr>`}
  </table>`;
}

/** Returns the samples by metric; an older scheduler sends only the texts of values. */
function listSamples({ samples = {}, metrics }) {
  const entries = Object.entries(samples);
  return entries.length > 0 ? entries : Object.entries(metrics).map(([name, value]) => [name, { state: "ok", value, ageSeconds: null }]);
}

/** Says what a sample is worth to the rules: they see only one that is neither too old nor out of range. */
function describeSample({ state, value, ageSeconds, maxAgeSeconds }) {
  const measured = ageSeconds === null ? "measured" : `measured ${formatSeconds(ageSeconds)} ago`;
  if (state === "outOfRange") return `missing for the rules: ${value} is out of range, ${measured}`;
  if (state !== "stale") return ageSeconds === null ? `${value}, ${measured}` : `${value}, ${formatSeconds(ageSeconds)} ago`;
  const since = new Date(Date.now() - 1000 * (ageSeconds - maxAgeSeconds)).toISOString();
  return `missing for the rules since ${formatTime(since)}: ${value}, ${measured}, is older than maxAge ${formatSeconds(maxAgeSeconds)}`;
}

function Pairs({ Title, title, pairs }) {
  if (pairs.length === 0) return null;
  return html`<${Title}>${title}<//>
    <table class="pairs">
      ${pairs.map(([key, value]) => html`<tr><th scope="row">${breakName(key)}</th><td>${breakName(value)}</td></tr>`)}
    </table>`;
}
