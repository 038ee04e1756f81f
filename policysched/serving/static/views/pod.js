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
    <${OtherNode} pod=${pod} answer=${answer} node=${options.get("node") ?? ""} generation=${generation} />
    <${Advice} pod=${pod} answer=${answer} generation=${generation} />
  </article>`;
}

function Summary({ answer }) {
  const counts = `${formatNumber(answer.feasible)} of ${formatCount(answer.nodeCount, "node")}`;
  const [first] = answer.best;
  const tie = answer.bestCount > 1 ? `, or one of ${answer.bestCount - 1} with as many points` : "";
  return html`
    ${answer.feasible > 0
      ? html`<p class="fits">fits on ${counts} → <a href=${makeNodeAddress(first)}>${first}</a>${tie}</p>`
      : html`<p class="rejected">fits on none of ${formatCount(answer.nodeCount, "node")}</p>`}
    ${answer.placedOn && html`<p>it is on <a href=${makeNodeAddress(answer.placedOn)}>${answer.placedOn}</a>; this page decides as if it had no node</p>`}
    ${answer.gate && html`<p class="warning">it waits at a gate: ${answer.gate}</p>`}
    ${answer.message && html`<p class="message">${answer.message}</p>`}
    <p class="quiet">
      profile ${answer.profile}${answer.policies.length ? `, policies ${answer.policies.join(", ")}` : ", no policies"}, priority ${formatNumber(answer.priority)} ·${" "}
      <a href=${makeAddress(["cluster"], { pod: answer.pod })}>on the map</a>
    </p>
  `;
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
  return html`<section>
    <h2>Filters, in their order</h2>
    <table class="funnel">
      <thead><tr><th scope="col">filter</th><th scope="col">rejects</th><th scope="col">left</th><td></td></tr></thead>
      <tbody>
        <tr><th scope="row" class="quiet">all nodes</th><td></td><td>${formatNumber(answer.nodeCount)}</td><${Bar} of=${answer.nodeCount} left=${answer.nodeCount} /></tr>
        ${answer.funnel.map(
          (step) => html`<tr>
            <th scope="row"><${RejectedBy} by=${step.by} /></th>
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

function Reasons({ answer }) {
  const counts = answer.why.map(() => 0);
  for (const number of answer.of) if (number >= 0) counts[number] += 1;
  const rows = answer.why.map((why, number) => ({ ...why, count: counts[number] }));
  rows.sort((one, other) => other.count - one.count);
  if (rows.length === 0) return null;
  return html`<ul class="reasons">
    ${rows.map((each) => html`<li>${formatNumber(each.count)} × <${RejectedBy} by=${each.by} />: ${each.reason}</li>`)}
  </ul>`;
}

// --- points ------------------------------------------------------------------------------------

export function Points({ answer }) {
  const shown = answer.ranking.slice(0, BARS);
  const rules = answer.rules.map((rule, index) => ({ ...rule, index, of: shown.map((node) => node.points[index]) }));
  const isAlone = shown.length === 1; // no other node to compare with, so show its rules with points
  const different = rules.filter((rule) => (isAlone ? rule.of[0] !== 0 : new Set(rule.of).size > 1));
  different.sort((one, other) => spread(other.of) - spread(one.of) || other.of[0] - one.of[0]);
  const most = Math.max(...shown.map((node) => node.total), 1);
  const parts = (number) => makeParts(rules, different, number);
  return html`<section>
    <h2>Points of the best nodes</h2>
    <table class="points">
      ${shown.map(
        (node, number) => html`<tr>
          <th scope="row"><a href=${makeNodeAddress(node.node)}>${node.node}</a></th>
          <td class="stack" aria-hidden="true">
            ${parts(number).map((part) => html`<span style=${{ width: `${(100 * part.points) / most}%`, background: part.colour }} title=${`${part.name} ${formatNumber(part.points)}`}></span>`)}
          </td>
          <td>${formatNumber(node.total)}</td>
        </tr>`,
      )}
    </table>
    <${Comparison} shown=${shown.slice(0, 2)} rules=${rules} different=${different} />
  </section>`;
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
          <th scope="col">weight</th>
          ${shown.map((node) => html`<th scope="col">${node.node}</th>`)}
          ${shown.length > 1 && html`<th scope="col">difference</th>`}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (rule) => html`<tr>
            <th scope="row"><span class="swatch" style=${{ background: swatch(rule) }}></span> <${RejectedBy} by=${rule.name} /></th>
            <td>${formatNumber(rule.weight)}</td>
            ${shown.map((_, number) => html`<td>${formatNumber(rule.of[number])}</td>`)}
            ${shown.length > 1 && html`<td>${formatDifference(rule.of[1] - rule.of[0])}</td>`}
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
  const text = (each) => (each.winners ? `${each.text} → ${listNames(each.winners)}` : `${each.text} → fits on ${formatCount(each.nodes.length + each.more, "node")}`);
  return html`<section>
    <h2>${answer.feasible > 0 ? "What would make another node win" : "Edits of which each lets it fit"}</h2>
    ${changes && changes.length > 0
      ? html`<ul class="advice">${changes.slice(0, 10).map((each) => html`<li>${text(each)}</li>`)}</ul>`
      : html`<p>${study.triedAll === false ? "none was found in time" : "no single change does"}</p>`}
    ${study.nearest && html`<p>the fewest obstacles are on <a href=${makeNodeAddress(study.nearest.node)}>${study.nearest.node}</a>:</p>
      <ul>${study.nearest.obstacles.map((each) => html`<li><b>${each.by}</b>: ${each.reason}</li>`)}</ul>`}
    ${study.preemption && html`<p>preemption would make room on ${study.preemption.node}: ${listNames(study.preemption.victims)}</p>`}
  </section>`;
}

function listNames(names) {
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}
