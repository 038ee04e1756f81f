// One pod: the filters and what they leave, the points of the best nodes, and what would help.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { CATEGORY_COUNT, OTHER, getCategoryColour } from "../colours.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { go, makeAddress, makeNodeAddress, makePodAddress } from "../routes.js";
import { RejectedBy, Rejections } from "./node.js";

const BARS = 6;
const MOST_NODES = 3;
/** The schedulerName of pods that name none. */
const KUBE_SCHEDULER = "default-scheduler";

export function PodView({ pod, options, generation }) {
  const { answer, error, isWaiting } = useAnswer(() => ask("explain", { pod }), [pod, generation]);
  if (!answer || (isWaiting && answer.pod !== pod)) {
    return html`<${Waiting} error=${error} what="deciding about the pod" />`;
  }
  return html`<article class="pod">
    <h1>${answer.pod}</h1>
    <${Summary} answer=${answer} />
    <${Copy} pod=${pod} generation=${generation} />
    <${Funnel} answer=${answer} />
    ${answer.ranking.length > 0 && html`<${Points} answer=${answer} />`}
    <${Advice} pod=${pod} answer=${answer} generation=${generation} />
    <${OtherNode} pod=${pod} answer=${answer} node=${options.get("node") ?? ""} generation=${generation} />
  </article>`;
}

function Summary({ answer }) {
  const isOfKube = answer.schedulerName === KUBE_SCHEDULER; // no mistake, unlike other names
  const asIf = `decided here as if profile ${answer.profile} served it`;
  return html`
    ${answer.missingProfile && !isOfKube && html`<p class="rejected">${answer.missingProfile}</p><p class="quiet">${asIf}</p>`}
    ${answer.gate && html`<p class="rejected">not scheduled yet: ${answer.gate}</p><p class="quiet">what follows is decided as if nothing held it back</p>`}
    ${answer.placement ? html`<${Placement} answer=${answer} placement=${answer.placement} />` : html`<${Fit} answer=${answer} />`}
    ${answer.missingProfile && isOfKube && html`<p class="quiet">its schedulerName is ${KUBE_SCHEDULER}, so kube-scheduler schedules it; ${asIf}</p>`}
    <p class="quiet">
      profile ${answer.profile}${answer.policies.length ? `, policies ${answer.policies.join(", ")}` : ", no policies"}${answer.priority === 0 ? "" : `, priority ${formatNumber(answer.priority)}`} ·${" "}
      <a href=${makeAddress(["cluster"], { pod: answer.pod })}>on the map</a>
    </p>
  `;
}

/** Says where a pending pod would go. */
function Fit({ answer }) {
  const tie = answer.bestCount > 1 ? `, or one of ${formatNumber(answer.bestCount - 1)} with as many points` : "";
  return html`
    ${answer.feasible > 0
      ? html`<p class="fits">fits on ${describeFeasible(answer)} → <${NodeLink} node=${answer.best[0]} />${tie}</p>`
      : html`<p class="rejected">fits on none of ${formatCount(answer.nodeCount, "node")}</p>`}
    ${answer.message && html`<p class="message">${answer.message}</p>`}
  `;
}

/** Says where a placed pod is, and then where it would go now. */
function Placement({ answer, placement }) {
  const winner = answer.feasible > 0 && html`<${NodeLink} node=${answer.best[0]} />`;
  const ties = answer.bestCount > 1 ? `, or go to one of ${formatCount(answer.bestCount - 1, "node")} with as many points` : "";
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

function NodeLink({ node }) {
  return html`<a href=${makeNodeAddress(node)}>${node}</a>`;
}

function Copy({ pod, generation }) {
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
    <button onClick=${() => navigator.clipboard.writeText(answer.text)}>copy</button>`;
}

export function Funnel({ answer }) {
  const isCounted = answer.funnel.every((step) => Number.isInteger(step.rejectsInAll)); // not by an older scheduler
  return html`<section>
    <h2>Filters, in their order</h2>
    <p class="quiet">
      ${answer.funnel.length === 0 ? "no filter rejects a node; " : isCounted ? "rejects: all nodes that the filter rejects; first: nodes that no filter above it rejects; " : "first: nodes that no filter above it rejects; "}left: nodes that pass it and all filters above
    </p>
    <table class=${isCounted ? "funnel counted" : "funnel"}>
      <thead><tr><th scope="col">filter</th>${isCounted && html`<th scope="col">rejects</th>`}<th scope="col">first</th><th scope="col">left</th><td></td></tr></thead>
      <tbody>
        <tr><th scope="row" class="quiet">all nodes</th>${isCounted && html`<td></td>`}<td></td><td>${formatNumber(answer.nodeCount)}</td><${Bar} of=${answer.nodeCount} left=${answer.nodeCount} /></tr>
        ${answer.funnel.map(
          (step) => html`<tr>
            <th scope="row"><${RejectedBy} by=${step.by} /></th>
            ${isCounted && html`<td>${formatNumber(step.rejectsInAll)}</td>`}
            <td>${formatNumber(step.rejects)}</td>
            <td>${formatNumber(step.left)}</td>
            <${Bar} of=${answer.nodeCount} left=${step.left} />
          </tr>`,
        )}
      </tbody>
    </table>
    <${Reasons} answer=${answer} />
  </section>`;
}

function Bar({ of, left }) {
  return html`<td class="bar"><span style=${{ width: `${of ? (100 * left) / of : 0}%` }}></span></td>`;
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
  return html`<h3>The first reason of each rejected node</h3>
    <ul class="reasons">
      ${sorted.map((each) => html`<li>${formatNumber(each.count)} × <${RejectedBy} by=${each.by} />: ${each.reason}</li>`)}
    </ul>`;
}

// --- points ------------------------------------------------------------------------------------

export function Points({ answer }) {
  const shown = listShown(answer);
  const rules = answer.rules.map((rule, index) => ({ ...rule, index, of: shown.map((node) => node.points[index]) }));
  const areEqual = answer.bestCount > 1 && answer.bestCount === answer.feasible;
  const isAlone = shown.length === 1; // no other node to compare with, so show its rules with points
  const different = rules.filter((rule) => (isAlone ? rule.of[0] !== 0 : new Set(rule.of).size > 1));
  different.sort((one, other) => spread(other.of) - spread(one.of) || other.of[0] - one.of[0]);
  if (areEqual && different.length === 0) return html`<${EqualPoints} answer=${answer} rules=${rules} />`;
  return html`<section>
    <h2>Points of the best nodes</h2>
    ${areEqual && html`<p>all ${formatCount(answer.feasible, "node")} have equal points (${formatNumber(shown[0].total)}) in all</p>`}
    <${Bars} shown=${shown} rules=${rules} different=${different} />
    <${Comparison} shown=${choosePair(shown, answer.placedOn)} rules=${rules} different=${different} />
  </section>`;
}

/** Returns the best nodes, and the node of a placed pod, at the end if it is not among them. */
function listShown({ ranking, placement }) {
  const own = placement?.ranked;
  const best = ranking.slice(0, BARS);
  const isMissing = own && !best.some(({ node }) => node === own.node);
  return [...(isMissing ? [...best.slice(0, BARS - 1), own] : best)].map((node, index) => ({ ...node, index }));
}

/** Returns the winner, and the node of a placed pod or the best one with fewer points. */
function choosePair(shown, placedOn) {
  const [winner, ...others] = shown;
  const other = others.find((node) => node.node === placedOn) ?? others.find((node) => node.total < winner.total) ?? others[0];
  return other ? [winner, other] : [winner];
}

/** Says that no rule prefers a node, and what each rule gives to all of them. */
function EqualPoints({ answer, rules }) {
  const [first] = answer.ranking;
  return html`<section>
    <h2>Points</h2>
    <p>all ${formatCount(answer.feasible, "node")} that it fits on have equal points (${formatNumber(first.total)}): <${Links} names=${answer.best} more=${answer.bestCount - answer.best.length} makeAddress=${makeNodeAddress} /></p>
    <${Comparison} shown=${[{ node: "points", index: 0 }]} rules=${rules} different=${rules.filter((rule) => rule.of[0] !== 0)} />
  </section>`;
}

function Bars({ shown, rules, different }) {
  const most = Math.max(...shown.map((node) => node.total), 1);
  return html`<table class="points">
    ${shown.map(
      (node, number) => html`<tr>
        <th scope="row"><${NodeLink} node=${node.node} /></th>
        <td class="stack" aria-hidden="true">
          ${makeParts(rules, different, number).map((part) => html`<span style=${{ width: `${(100 * part.points) / most}%`, background: part.colour }} title=${`${part.name} ${formatNumber(part.points)}`}></span>`)}
        </td>
        <td>${formatNumber(node.total)}</td>
      </tr>`,
    )}
  </table>`;
}

function spread(numbers) {
  return Math.max(...numbers) - Math.min(...numbers);
}

/** Returns the segments of a bar: rules that differ, others of them, and what is equal everywhere. */
function makeParts(rules, different, number) {
  const parts = different.slice(0, CATEGORY_COUNT).map((rule, index) => ({
    name: rule.name,
    points: Math.max(0, rule.of[number]),
    colour: getCategoryColour(index),
  }));
  const rest = rules.filter((rule) => !different.slice(0, CATEGORY_COUNT).includes(rule));
  const points = rest.reduce((sum, rule) => sum + Math.max(0, rule.of[number]), 0);
  return [...parts, { name: "equal on these nodes, and others", points, colour: OTHER }];
}

function Comparison({ shown, rules, different }) {
  const [areAllShown, setAreAllShown] = useState(false);
  const rows = areAllShown || different.length === 0 ? rules : different;
  const swatch = (rule) => {
    const index = different.indexOf(rule);
    return index >= 0 && index < CATEGORY_COUNT ? getCategoryColour(index) : OTHER;
  };
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Points by rule"><table class="comparison">
      <thead>
        <tr>
          <th scope="col">rule</th>
          ${shown.map((node) => html`<th scope="col">${node.node}</th>`)}
          ${shown.length > 1 && html`<th scope="col">difference</th>`}
          <th scope="col">weight</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (rule) => html`<tr>
            <th scope="row"><span class="swatch" style=${{ background: swatch(rule) }}></span> <${RejectedBy} by=${rule.name} /></th>
            ${shown.map((node) => html`<td>${formatNumber(rule.of[node.index])}</td>`)}
            ${shown.length > 1 && html`<td>${formatDifference(rule.of[shown[1].index] - rule.of[shown[0].index])}</td>`}
            <td>${formatNumber(rule.weight)}</td>
          </tr>`,
        )}
      </tbody>
    </table></div>
    ${different.length > 0 &&
    rules.length > different.length &&
    html`<button aria-pressed=${areAllShown} onClick=${() => setAreAllShown(!areAllShown)}>
      ${describeOthers(areAllShown, rules.length - different.length, shown.length === 1)}
    </button>`}`;
}

function describeOthers(areAllShown, count, isAlone) {
  const others = formatCount(count, "more rule");
  if (isAlone) return areAllShown ? "only rules with points" : `${others} without points`;
  return areAllShown ? "only rules that differ" : `${others}, with the same points for these nodes`;
}

function formatDifference(number) {
  return number === 0 ? "same" : `${number > 0 ? "+" : "−"}${formatNumber(Math.abs(number))}`;
}

// --- another node, and advice ------------------------------------------------------------------

function OtherNode({ pod, answer, node, generation }) {
  const choose = (event) => {
    event.preventDefault();
    go(makePodAddress(pod, { node: new FormData(event.target).get("node").trim() }));
  };
  return html`<section>
    <h2>Why not another node</h2>
    <form onSubmit=${choose}>
      <label>node <input name="node" value=${node} autocomplete="off" spellcheck=${false} /></label>
      <button>why not</button>
    </form>
    ${node && html`<${Compared} pod=${pod} answer=${answer} node=${node} generation=${generation} />`}
  </section>`;
}

function Compared({ pod, answer, node, generation }) {
  const { answer: found, error } = useAnswer(() => ask("compare", { pod, node }), [pod, node, generation]);
  if (!found || found.node !== node) return html`<${Waiting} error=${error} what="asking the filters" />`;
  if (!found.fits) {
    return html`<p class="rejected"><a href=${makeNodeAddress(node)}>${node}</a> is rejected by</p>
      <${Rejections} rejections=${found.rejections} />`;
  }
  const [winner] = answer.ranking;
  if (!found.points || !winner) return html`<p class="fits">${node} fits</p>`;
  const lost = answer.rules
    .map((rule, index) => [rule.name, found.points[rule.name] - winner.points[index]])
    .filter(([, difference]) => difference !== 0)
    .sort((one, other) => one[1] - other[1]);
  const total = found.points.total - winner.total;
  return html`<p class="fits">
      ${node} fits, with ${formatNumber(found.points.total)} points:${" "}
      ${total === 0 ? `as many as ${winner.node}` : `${formatNumber(Math.abs(total))} ${total < 0 ? "fewer" : "more"} than ${winner.node}`}
    </p>
    <ul>${lost.map(([name, difference]) => html`<li><b>${name}</b> ${formatDifference(difference)}</li>`)}</ul>`;
}

function Advice({ pod, answer, generation }) {
  const { answer: study, error, isWaiting } = useAnswer(() => ask("study", { pod }), [pod, generation]);
  if (!study || (isWaiting && study.pod !== pod)) {
    return html`<section><h2>What would change it</h2><${Waiting} error=${error} what="trying edits" /></section>`;
  }
  const changes = answer.feasible > 0 ? study.flips : study.edits;
  return html`<section>
    <h2>${answer.feasible > 0 ? "What would make another node win" : "Any one of these changes lets it fit"}</h2>
    ${changes && changes.length > 0
      ? html`<ul class="advice">${changes.slice(0, 10).map((each) => html`<li>${each.text} → <${Effect} change=${each} /></li>`)}</ul>`
      : html`<p>${study.triedAll === false ? "none was found in time" : "no single change does"}</p>`}
    ${study.nearest && html`<${Nearest} nearest=${study.nearest} />`}
    ${study.preemption && html`<p>preemption would make room on <${NodeLink} node=${study.preemption.node} />, and evict <${Links} names=${study.preemption.victims} makeAddress=${makePodAddress} /></p>`}
  </section>`;
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

/** Shows the first names as links, and how many others there are; `more` are not among the names. */
function Links({ names, more = 0, makeAddress }) {
  const others = names.length + more - Math.min(names.length, MOST_NODES);
  return html`${names.slice(0, MOST_NODES).map((name, index) => html`${index > 0 ? ", " : ""}<a href=${makeAddress(name)}>${name}</a>`)}${others > 0 ? ` and ${formatNumber(others)} more` : ""}`;
}
