// What tables of several views have in common.

import { html } from "../html.js";
import { formatCount } from "../numbers.js";

/** A region in which a wide table scrolls, also with the keyboard; `label` names it. */
export function TableRegion({ label, children }) {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label=${label}>${children}</div>`;
}

/** A cell with a bar in a frame: the frame is the whole. */
export function ShareBar({ part, of }) {
  return html`<td class="bar"><div><span style=${{ width: `${of > 0 ? Math.min(100, (100 * part) / of) : 0}%` }}></span></div></td>`;
}

/** Says how many of `count` rows are not among the `shown` ones. */
export function MoreRows({ count, shown, noun }) {
  return count > shown && html`<p class="quiet">${formatCount(count - shown, `more ${noun}`)}</p>`;
}

/**
 * The pods or bindings with one outcome.
 *
 * @param texts the words of the outcome for one and for several: ["gets none", "get none"]
 * @param count the number of all
 * @param shown the number of rows in the table, which are the first of them
 * @param children the table
 */
export function OutcomeSection({ noun, texts, count, shown, children }) {
  const heading = `${formatCount(count, noun)} ${chooseText(texts, count)}`;
  return html`<h2>${heading}</h2>
    <${TableRegion} label=${heading}>${children}<//>
    <${MoreRows} count=${count} shown=${shown} noun=${noun} />`;
}

/** Returns the words for one or for several. */
export function chooseText([one, several], count) {
  return count === 1 ? one : several;
}
