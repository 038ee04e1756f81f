// The points of the best nodes for one pod, rule by rule.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { CATEGORY_COUNT, OTHER, getCategoryColour } from "../colours.js";
import { computeSpread, formatCount, formatDifference, formatNumber } from "../numbers.js";
import { makeNodeAddress } from "../routes.js";
import { words } from "../words.js";
import { Links, NodeLink, RejectedBy, breakName } from "./links.js";
import { TableRegion } from "./tables.js";

const BARS = 6;

export function Points({ answer }) {
  const shown = listShown(answer);
  const rules = answer.rules.map((rule, index) => ({ ...rule, index, of: shown.map((node) => node.points[index]) }));
  const isAlone = shown.length === 1; // no other node to compare with, so show its rules with points
  const compared = chooseCompared(answer, shown);
  const different = rules.filter((rule) => (isAlone ? rule.of[0] !== 0 : new Set(rule.of).size > 1));
  different.sort((one, other) => computeSpread(other.of) - computeSpread(one.of) || other.of[0] - one.of[0]);
  return html`<section>
    <h2>${isAlone ? "Points" : `Points of the best ${words.node}s`}</h2>
    ${answer.bestCount > 1 && html`<${Tie} answer=${answer} />`}
    ${!isAlone && html`<${Bars} shown=${shown} bestCount=${answer.bestCount} rules=${rules} different=${different} />`}
    ${compared.length === 2 && !answer.placement?.by && !words.areBindings && html`<${MainLead} pair=${compared} rules=${rules} />`}
    <${Comparison} shown=${compared} rules=${rules} different=${different} />
  </section>`;
}

/**
 * Returns the best nodes, and the node of a placed pod, at the end if it is not among them. Of nodes
 * to which each rule gives the points of the winner, only the winner is among them.
 */
function listShown({ ranking, placement, selection }) {
  if (selection) return listChosenFirst(ranking, selection);
  const own = placement?.ranked;
  const best = ranking.filter((node) => node === ranking[0] || !hasEqualPoints(node, ranking[0])).slice(0, BARS);
  const isMissing = own && !best.some(({ node }) => node === own.node);
  return [...(isMissing ? [...best.slice(0, BARS - 1), own] : best)].map((node, index) => ({ ...node, index }));
}

/** Returns the chosen clusters and then others, as far as there is room, in the order of their points. */
function listChosenFirst(ranking, { clusters }) {
  const isChosen = ({ node }) => clusters.includes(node);
  const listed = [...ranking.filter(isChosen), ...ranking.filter((node) => !isChosen(node))].slice(0, BARS);
  return ranking.filter((node) => listed.includes(node)).map((node, index) => ({ ...node, index }));
}

function hasEqualPoints(one, other) {
  return one.points.every((points, index) => points === other.points[index]);
}

/** Names the nodes that have the most points, and says which of them a scheduler takes. */
function Tie({ answer }) {
  const { ranking, best, bestCount, feasible } = answer;
  const [winner] = ranking;
  const areAll = bestCount === feasible;
  const areEqual = ranking.filter((node) => hasEqualPoints(node, winner)).length === bestCount;
  const count = formatCount(bestCount, words.node);
  return html`<p>
    ${areAll ? `all ${count} that ${words.areBindings ? "pass" : "it fits on"} have equal points` : `${count} have the most points`}${" "}
    (${formatNumber(winner.total)})${areEqual ? `${areAll ? "" : ", equal"} in all rules` : ""}: <${Links} names=${best} more=${bestCount - best.length} makeAddress=${makeNodeAddress} />${words.areBindings ? "" : "; a scheduler chooses one of them at random"}
  </p>`;
}

/** Returns the nodes of the table: all chosen clusters of a binding, or the winner and another node. */
function chooseCompared({ bestCount, placedOn, selection }, shown) {
  const chosen = selection ? shown.filter(({ node }) => selection.clusters.includes(node)) : [];
  if (chosen.length > 1) return chosen;
  if (shown.length === 1 && bestCount > 1) return [{ ...shown[0], node: "points of each" }];
  return choosePair(shown, placedOn);
}

/** Returns the winner, and the node of a placed pod or the best one with fewer points. */
function choosePair(shown, placedOn) {
  const [winner, ...others] = shown;
  const other = others.find((node) => node.node === placedOn) ?? others.find((node) => node.total < winner.total) ?? others[0];
  return other ? [winner, other] : [winner];
}

/** Names the rule with the largest lead of the winner, unless the nodes have equal points. */
function MainLead({ pair: [winner, other], rules }) {
  const total = winner.total - other.total;
  if (total <= 0) return null;
  const [lead, name] = rules.map((rule) => [rule.of[winner.index] - rule.of[other.index], rule.name]).sort(([one], [next]) => next - one)[0];
  return html`<p>decided by <${RejectedBy} by=${name} />: ${formatDifference(lead)} points for ${winner.node}, compared with ${other.node}${total === lead ? "" : ` (all rules together: ${formatDifference(total)})`}</p>`;
}

function Bars({ shown, bestCount, rules, different }) {
  const equal = bestCount - shown.filter(({ total }) => total === shown[0].total).length;
  const most = Math.max(...shown.map((node) => node.total), 1);
  return html`<table class="points">
    ${shown.map(
      (node, number) => html`<tr>
        <th scope="row"><${NodeLink} node=${node.node} />${number === 0 && equal > 0 && ` and ${formatNumber(equal)} equal`}</th>
        <td class="stack" aria-hidden="true">
          ${makeParts(rules, different, number).map((part) => html`<span style=${{ width: `${(100 * part.points) / most}%`, background: part.colour }} title=${`${part.name} ${formatNumber(part.points)}`}></span>`)}
        </td>
        <td>${formatNumber(node.total)}</td>
      </tr>`,
    )}
  </table>`;
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
  return [...parts, { name: `equal on these ${words.node}s, and others`, points, colour: OTHER }];
}

function Comparison({ shown, rules, different }) {
  const [areAllShown, setAreAllShown] = useState(false);
  const rows = areAllShown || different.length === 0 ? rules : different;
  const swatch = (rule) => {
    const index = different.indexOf(rule);
    return index >= 0 && index < CATEGORY_COUNT ? getCategoryColour(index) : OTHER;
  };
  const isPair = shown.length === 2;
  return html`<${TableRegion} label="Points by rule"><table class="comparison" style=${{ "--columns": shown.length + (isPair ? 2 : 1) }}>
      <thead>
        <tr>
          <th scope="col">rule</th>
          ${shown.map((node) => html`<th scope="col">${breakName(node.node)}</th>`)}
          ${isPair && html`<th scope="col">lead</th>`}
          <th scope="col">weight</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (rule) => html`<tr>
            <th scope="row"><span class="swatch" style=${{ background: swatch(rule) }}></span> <${RejectedBy} by=${rule.name} /></th>
            ${shown.map((node) => html`<td>${formatNumber(rule.of[node.index])}${node.measured?.[rule.index] && html` <span class="quiet">(${node.measured[rule.index]})</span>`}</td>`)}
            ${isPair && html`<td>${formatDifference(rule.of[shown[0].index] - rule.of[shown[1].index])}</td>`}
            <td>${formatNumber(rule.weight)}</td>
          </tr>`,
        )}
      </tbody>
    </table><//>
    ${different.length > 0 &&
    rules.length > different.length &&
    html`<button aria-pressed=${areAllShown} onClick=${() => setAreAllShown(!areAllShown)}>
      ${describeOthers(areAllShown, rules.length - different.length, shown.length === 1)}
    </button>`}`;
}

function describeOthers(areAllShown, count, isAlone) {
  const others = formatCount(count, "more rule");
  if (isAlone) return areAllShown ? "only rules with points" : `${others} without points`;
  return areAllShown ? "only rules that differ" : `${others}, with the same points for these ${words.node}s`;
}
