// What tables of several views have in common.

import { html } from "../html.js";
import { formatCount, formatNumber } from "../numbers.js";

/** A region in which a wide table scrolls, also with the keyboard; `label` names it. */
export function TableRegion({ label, children }) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label=${label}>${children}</div>`;
}

/** Says how many of `count` rows are not among the `shown` ones. */
export function MoreRows({ count, shown, noun }) {
  return count > shown && html`<p class="quiet">${formatCount(count - shown, `more ${noun}`)}</p>`;
}

/** Counts pods or bindings by outcome: `outcomes` has [outcome, count], `texts` the words of each. */
export function OutcomeCounts({ outcomes, texts, children }) {
  return html`<ul class="outcomes">
    ${outcomes.map(([outcome, count]) => html`<li><b>${formatNumber(count)}</b> ${chooseText(texts[outcome], count)}</li>`)}
    ${children}
  </ul>`;
}

/**
 * The pods or bindings with one outcome.
 *
 * @param Heading the element of the heading
 * @param texts the words of the outcome for one and for several: ["gets none", "get none"]
 * @param count the number of all
 * @param shown the number of rows in the table, which are the first of them
 * @param children the table
 */
export function OutcomeSection({ Heading, noun, texts, count, shown, children }) {
  const heading = `${formatCount(count, noun)} ${chooseText(texts, count)}`;
  return html`<${Heading}>${heading}<//>
    <${TableRegion} label=${heading}>${children}<//>
    <${MoreRows} count=${count} shown=${shown} noun=${noun} />`;
}

function chooseText([one, several], count) {
  return count === 1 ? one : several;
}

/** Names the edits of a plan without which a pod or a binding would have its old result. */
export function Cause({ cause }) {
  if (!cause) return null;
  return html`${cause.edits.map((name, index) => html`${index > 0 ? ", " : ""}<b>${name}</b>`)}
    ${cause.how && html`<br /><span class="quiet">${cause.how}</span>`}`;
}
