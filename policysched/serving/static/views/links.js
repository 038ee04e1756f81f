// Names of nodes, pods and rules as links to their views.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { formatNumber } from "../numbers.js";
import { makeNodeAddress, makeRuleAddress } from "../routes.js";

const MOST_NAMES = 3;

export function NodeLink({ node }) {
  return html`<a href=${makeNodeAddress(node)}>${breakName(node)}</a>`;
}

/**
 * Shows the first names as links, and the others on demand. `more` are not among the names; the view
 * at `moreAddress` has them, if there is one.
 */
export function Links({ names, more = 0, makeAddress, moreAddress = "" }) {
  const [isOpen, setIsOpen] = useState(false);
  const shown = isOpen ? names : names.slice(0, MOST_NAMES);
  const others = names.length - shown.length + more;
  const text = `${formatNumber(others)} more`;
  return html`${shown.map((name, index) => html`${index > 0 ? ", " : ""}<a href=${makeAddress(name)}>${breakName(name)}</a>`)}
    ${others > 0 && html` and ${shown.length < names.length ? html`<button class="unfold" onClick=${() => setIsOpen(true)}>${text}</button>` : moreAddress ? html`<a href=${moreAddress}>${text}</a>` : text}`}`;
}

/** Lets a long name, such as the key of a label, go on in the next line after `/`, `.` or `-`. */
export function breakName(name) {
  return name.split(/(?<=[/.-])/).map((part) => html`${part}<wbr />`);
}

/** Returns the name of what rejects a node: `POLICY/RULE` of a rule, or the plugin. */
export function getSourceName({ rule, policy, plugin }) {
  return rule ? `${policy}/${rule}` : plugin;
}

/**
 * A long name without its middle, which is only hidden: the whole name is copied, found and read aloud.
 * The first part of a name with dots is what differs, as that of a host, so the others go first.
 */
export function ShortName({ name, most }) {
  const letters = [...name];
  if (letters.length <= most) return html`${name}`;
  const shown = letters.slice(0, letters.includes(".", 1) ? letters.indexOf(".", 1) : letters.length);
  const half = Math.floor((most - 1) / 2);
  const [start, end] = shown.length < most ? [shown.length, letters.length] : [most - 1 - half, shown.length - half];
  const cut = (from, to) => html`<span class="cut">${letters.slice(from, to).join("")}</span>`;
  return html`<span class="short" title=${name}>${letters.slice(0, start).join("")}${cut(start, end)}${letters.slice(end, shown.length).join("")}${end < shown.length && shown.length < letters.length && cut(shown.length)}</span>`;
}

/** Names a plugin or a rule (`POLICY/RULE`); a rule is a link to its line. */
export function RejectedBy({ by }) {
  if (!by.includes("/")) return html`<b>${by || "PreFilter"}</b>`;
  return html`<a href=${makeRuleAddress(by)}><b>${by}</b></a>`;
}
