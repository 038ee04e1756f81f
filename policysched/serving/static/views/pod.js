// One pod: where it goes, the filters and what they leave, and what would help.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { NARROW, useMedia } from "../media.js";
import { formatAmount, formatCount, formatNumber } from "../numbers.js";
import { makeAddress, makeNodeAddress, makePodAddress, makeRuleAddress } from "../routes.js";
import { words } from "../words.js";
import { CopyButton } from "./copy_button.js";
import { Links, NodeLink, RejectedBy, breakName } from "./links.js";
import { OtherNode } from "./other_node.js";
import { Points } from "./points.js";
import { ShareBar } from "./tables.js";

/** The schedulerName of pods that name none. */
const KUBE_SCHEDULER = "default-scheduler";
/** HTTP: Not Found. */
const NOT_FOUND = 404;

/**
 * The view of a pod; for a listing beside its scheduler, also:
 *
 * @param notes what the scheduler knows about the pod, and how old the listing is
 * @param records the attempts of the scheduler
 * @param profiles names of the profiles of the scheduler, which the policies of the page may lack
 * @param showUnknown returns what to show if the listing cannot tell about the pod, for its error
 */
export function PodView({ pod, options, generation, notes = null, records = null, showUnknown = null, profiles = [] }) {
  const { answer, error, isWaiting } = useAnswer(() => ask("explain", { pod }), [pod, generation]);
  if (showUnknown && error?.status === NOT_FOUND) return showUnknown(error);
  if (!answer || (isWaiting && answer.pod !== pod)) {
    return html`<${Waiting} error=${error} what="deciding about the pod" />`;
  }
  return html`<article class="pod">
    <h1>${breakName(answer.pod)}</h1>
    ${notes}
    <${Summary} answer=${answer} isServed=${profiles.includes(answer.schedulerName)} />
    <${RulesWithoutSamples} rules=${answer.rulesWithoutSamples} />
    <${Facts} answer=${answer} />
    <${Copy} pod=${pod} generation=${generation} />
    <${Funnel} answer=${answer} />
    ${answer.ranking.length > 0 && html`<${Points} answer=${answer} />`}
    <${Advice} pod=${pod} answer=${answer} generation=${generation} />
    <${OtherNode} pod=${pod} answer=${answer} node=${options.get("node") ?? ""} generation=${generation} />
    ${records}
  </article>`;
}

/** Names the rules that could not act, because no node has a valid sample of their metric. */
export function RulesWithoutSamples({ rules = [] }) {
  return rules.map(({ rule, metric, holdsPods }) => html`<p class="warning">${holdsPods ? "waits for" : "without"} <${RejectedBy} by=${rule} />: no node has a valid sample of ${metric}${holdsPods ? "" : ", so this rule is skipped"}</p>`);
}

/** @param isServed whether a running scheduler has a profile for the pod */
function Summary({ answer, isServed }) {
  const isOfKube = answer.schedulerName === KUBE_SCHEDULER; // no mistake, unlike other names
  const asIf = `decided here as if profile ${answer.profile} served it`;
  return html`
    ${answer.missingProfile && !isOfKube && !isServed && html`<p class="rejected">${answer.missingProfile}</p><p class="quiet">${asIf}</p>`}
    ${answer.gate && html`<p class="rejected">not scheduled yet: ${answer.gate}</p><p class="quiet">what follows is decided as if nothing held it back</p>`}
    ${answer.placement ? html`<${Placement} answer=${answer} placement=${answer.placement} />` : html`<${Fit} answer=${answer} />`}
    ${answer.missingProfile && isOfKube && html`<p class="quiet">its schedulerName is ${KUBE_SCHEDULER}, so kube-scheduler schedules it; ${asIf}</p>`}
    <p class="quiet">
      profile ${answer.profile}${answer.policies.length ? `, policies ${answer.policies.join(", ")}` : ", no policies"}${answer.priority === 0 ? "" : `, priority ${formatNumber(answer.priority)}`} ·${" "}
      <a href=${makeAddress(["cluster"], { pod: answer.pod })}>on the map</a>
    </p>
  `;
}

/** Says what the pod asks for; a narrow screen shows only the requests at first. */
function Facts({ answer }) {
  const isNarrow = useMedia(NARROW);
  const requests = Object.entries(answer.requests).map(([name, amount]) => `${name} ${formatAmount(name, amount)}`);
  const rows = [["owner", [answer.owner].filter(Boolean)], ...Object.entries(answer.facts)].filter(([, texts]) => texts.length > 0);
  const summary = `requests ${requests.join(", ") || "nothing"}`;
  if (rows.length === 0) return html`<p>${summary}</p>`;
  return html`<details open=${!isNarrow}>
    <summary>${summary}</summary>
    <table class="pairs">
      ${rows.map(([name, texts]) => html`<tr><th scope="row">${name}</th><td>${texts.map((text, index) => html`${index > 0 ? "; " : ""}${breakName(text)}`)}</td></tr>`)}
    </table>
  </details>`;
}

/** Says where a pending pod would go. */
function Fit({ answer }) {
  const tie = answer.bestCount > 1 ? `, or ${formatCount(answer.bestCount - 1, "other node")} with as many points` : "";
  return html`
    ${answer.feasible > 0
      ? html`<p class="fits">Pending: fits on ${describeFeasible(answer)} → <${NodeLink} node=${answer.best[0]} />${tie}</p>`
      : html`<p class="rejected">Pending: fits on none of ${formatCount(answer.nodeCount, "node")}</p>`}
    ${answer.message && html`<p class="message">${answer.message}</p>`}
    ${countReasons(answer.message) > answer.nodeCount && html`<p class="quiet">a node may have several reasons</p>`}
  `;
}

/** Returns the sum of the numbers of nodes in `0/8 nodes are available: 4 …, 5 ….` */
function countReasons(message) {
  return [...(message ?? "").matchAll(/[:,] (\d+) /g)].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Says where a placed pod is, and then where it would go now. */
function Placement({ answer, placement }) {
  const winner = answer.feasible > 0 && html`<${NodeLink} node=${answer.best[0]} />`;
  const ties = answer.bestCount > 1 ? `, or go to ${formatCount(answer.bestCount - 1, "other node")} with as many points` : "";
  return html`
    <p class="fits">on <${NodeLink} node=${placement.node} /></p>
    ${placement.best && html`<p>decided now, it would stay${ties}; it fits on ${describeFeasible(answer)}</p>`}
    ${placement.fits && !placement.best && html`<p>decided now, it would go to ${winner}, because <${RejectedBy} by=${placement.by} /> gives ${winner} ${formatNumber(placement.lead)} points more${placement.totalLead === placement.lead ? "" : ` (all rules together: ${formatNumber(placement.totalLead)})`}; it fits on ${describeFeasible(answer)}</p>`}
    ${!placement.fits && html`<p class="warning">decided now, ${placement.node} would not take it${placement.reason ? html` (<${RejectedBy} by=${placement.by} />: ${placement.reason}${placement.measured && `, ${placement.measured}`})` : ": the cluster has no such node"}; ${winner ? html`it would go to ${winner}, and fits on ${describeFeasible(answer)}` : "no other node would take it"}</p>`}
    <p class="quiet">a placed pod stays where it is: what follows is decided as if it had no node yet${answer.hasMetrics ? "; metrics include the load of the pod itself" : ""}</p>
  `;
}

function describeFeasible(answer) {
  return `${formatNumber(answer.feasible)} of ${formatCount(answer.nodeCount, "node")}`;
}

export function Copy({ pod, generation }) {
  const [isOpen, setIsOpen] = useState(false);
  return html`<div class="copy">
    <button aria-expanded=${isOpen} onClick=${() => setIsOpen(!isOpen)}>as text</button>
    ${isOpen && html`<${Text} pod=${pod} generation=${generation} />`}
  </div>`;
}

function Text({ pod, generation }) {
  const { answer, error } = useAnswer(() => ask("text", { pod }), [pod, generation]);
  if (!answer) return html`<${Waiting} error=${error} what="writing the text" />`;
  return html`<pre tabindex="0">${answer.text}</pre>
    <${CopyButton} text=${answer.text} />`;
}

export function Funnel({ answer }) {
  const isCounted = answer.funnel.every((step) => Number.isInteger(step.rejectsInAll)); // not by an older scheduler
  return html`<section>
    <h2>Filters, in their order</h2>
    <p class="quiet">
      ${answer.funnel.length === 0 ? `no filter rejects a ${words.node}; ` : `${isCounted ? `rejects: all ${words.node}s that the filter rejects; ` : ""}first: ${words.node}s that no filter above it rejects; `}left: ${words.node}s that pass it and all filters above
    </p>
    <table class=${isCounted ? "funnel counted" : "funnel"}>
      <thead><tr><th scope="col">filter</th>${isCounted && html`<th scope="col">rejects</th>`}<th scope="col">first</th><th scope="col">left</th><td></td></tr></thead>
      <tbody>
        <tr><th scope="row" class="quiet">all ${words.node}s</th>${isCounted && html`<td></td>`}<td></td><td>${formatNumber(answer.nodeCount)}</td><${ShareBar} part=${answer.nodeCount} of=${answer.nodeCount} /></tr>
        ${answer.funnel.map(
          (step) => html`<tr>
            <th scope="row"><${RejectedBy} by=${step.by} /></th>
            ${isCounted && html`<td>${formatNumber(step.rejectsInAll)}</td>`}
            <td>${formatNumber(step.rejects)}</td>
            <td>${formatNumber(step.left)}</td>
            <${ShareBar} part=${step.left} of=${answer.nodeCount} />
          </tr>`,
        )}
      </tbody>
    </table>
    <${Reasons} answer=${answer} />
  </section>`;
}

/** Lists the first reason of each rejected node; equal texts are one line. */
function Reasons({ answer }) {
  const lines = new Map();
  for (const number of answer.of) {
    if (number < 0) continue;
    const { by, reason } = answer.why[number];
    const line = lines.get(`${by}: ${reason}`) ?? { by, reason, count: 0 };
    line.count += 1;
    lines.set(`${by}: ${reason}`, line);
  }
  if (lines.size === 0) return null;
  const sorted = [...lines.values()].sort((one, other) => other.count - one.count);
  return html`<h3>The first reason of each rejected ${words.node}</h3>
    <ul class="reasons">
      ${sorted.map((each) => html`<li>${formatNumber(each.count)} × <${RejectedBy} by=${each.by} />: ${each.reason}</li>`)}
    </ul>`;
}

// --- advice ----------------------------------------------------------------------------------

function Advice({ pod, answer, generation }) {
  const { answer: study, error, isWaiting } = useAnswer(() => ask("study", { pod }), [pod, generation]);
  if (!study || (isWaiting && study.pod !== pod)) {
    return html`<section><h2>What would change it</h2><${Waiting} error=${error} what="trying edits" /></section>`;
  }
  const changes = answer.feasible > 0 ? study.flips : study.edits;
  const isOfPod = changes?.some(({ target }) => target === "pod");
  return html`<section>
    <h2>${answer.feasible > 0 ? "What would make another node win" : `Any one of these changes lets it fit${answer.placement ? " again" : ""}, smallest first`}</h2>
    ${isOfPod && answer.owner && html`<p class="quiet">make a change of the pod in its ${answer.owner}</p>`}
    ${changes && changes.length > 0
      ? html`<ul class="advice">${changes.slice(0, 10).map((each) => html`<li><${ChangeText} change=${each} /> → <${Effect} change=${each} /></li>`)}</ul>`
      : html`<p>${study.triedAll === false ? "none was found in time" : "no single change does"}</p>`}
    ${study.nearest && html`<${Nearest} nearest=${study.nearest} />`}
    ${study.preemption && html`<p>preemption would make room on <${NodeLink} node=${study.preemption.node} />, and evict <${Links} names=${study.preemption.victims} makeAddress=${makePodAddress} /></p>`}
  </section>`;
}

/** The text of a change; the name of a rule in it is a link to the line of the rule. */
function ChangeText({ change }) {
  const { text, target, kind, what, file, line } = change;
  const isOfRule = target === "policy" || (kind === "weight" && what.includes("/"));
  const at = text.indexOf(what);
  if (!isOfRule || at < 0) return html`${text}`;
  const place = file === undefined ? "" : ` (${file.split("/").at(-1)}:${line})`;
  const rest = text.slice(at + what.length).replace(` (line ${line})`, "");
  return html`${text.slice(0, at)}<a href=${makeRuleAddress(what)} title=${file}><b>${what}</b>${place}</a>${rest}`;
}

/** Names the nodes that a change makes win, or lets the pod fit on. */
function Effect({ change }) {
  if (change.winners) return html`<${Links} names=${change.winners} makeAddress=${makeNodeAddress} />`;
  return html`fits on ${formatCount(change.nodes.length + change.more, "node")}: <${Links} names=${change.nodes} more=${change.more} makeAddress=${makeNodeAddress} />`;
}

function Nearest({ nearest }) {
  const alike = nearest.alike.length + nearest.more;
  return html`<p>the fewest obstacles are on <${NodeLink} node=${nearest.node} />${alike > 0 ? ` and ${formatCount(alike, "other node")}` : ""}:</p>
    <ul>${nearest.obstacles.map((each) => html`<li><${RejectedBy} by=${each.by} />: ${each.reason}${each.evidence && html` <span class="quiet">(${each.evidence})</span>`}</li>`)}</ul>`;
}
