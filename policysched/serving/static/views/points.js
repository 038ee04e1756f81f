// The points of the best nodes for one pod, rule by rule.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { CATEGORY_COUNT, OTHER, getCategoryColour } from "../colours.js";
import { computeSpread, formatCount, formatDifference, formatNumber } from "../numbers.js";
import { makeNodeAddress } from "../routes.js";
import { words } from "../words.js";
import { Links, NodeLink, RejectedBy } from "./links.js";
import { TableRegion } from "./tables.js";

const BARS = 6;

export function Points({ answer }) {
  const shown = listShown(answer);
  const rules = answer.rules.map((rule, index) => ({ ...rule, index, of: shown.map((node) => node.points[index]) }));
  const areEqual = answer.bestCount > 1 && answer.bestCount === answer.feasible;
  const isAlone = shown.length === 1; // no other node to compare with, so show its rules with points
  const different = rules.filter((rule) => (isAlone ? rule.of[0] !== 0 : new Set(rule.of).size > 1));
  different.sort((one, other) => computeSpread(other.of) - computeSpread(one.of) || other.of[0] - one.of[0]);
  if (areEqual && different.length === 0) return html`<${EqualPoints} answer=${answer} rules=${rules} />`;
  return html`<section>
    <h2>Points of the best ${words.node}s</h2>
    ${areEqual && html`<p>all ${formatCount(answer.feasible, words.node)} have equal points (${formatNumber(shown[0].total)}) in all</p>`}
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
    <p>all ${formatCount(answer.feasible, words.node)} that ${words.areBindings ? "pass" : "it fits on"} have equal points (${formatNumber(first.total)}): <${Links} names=${answer.best} more=${answer.bestCount - answer.best.length} makeAddress=${makeNodeAddress} /></p>
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
  return html`<${TableRegion} label="Points by rule"><table class="comparison">
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
