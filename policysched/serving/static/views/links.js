// Names of nodes, pods and rules as links to their views.

import { html } from "../html.js";
import { formatNumber } from "../numbers.js";
import { makeNodeAddress, makeRuleAddress } from "../routes.js";

const MOST_NAMES = 3;

export function NodeLink({ node }) {
  return html`<a href=${makeNodeAddress(node)}>${node}</a>`;
}

/** Shows the first names as links, and how many others there are; `more` are not among the names. */
export function Links({ names, more = 0, makeAddress }) {
  const others = names.length + more - Math.min(names.length, MOST_NAMES);
  return html`${names.slice(0, MOST_NAMES).map((name, index) => html`${index > 0 ? ", " : ""}<a href=${makeAddress(name)}>${name}</a>`)}${others > 0 ? ` and ${formatNumber(others)} more` : ""}`;
}

/** Lets a long name, such as the key of a label, go on in the next line after `/`, `.` or `-`. */
export function breakName(name) {
  return name.split(/(?<=[/.-])/).map((part) => html`${part}<wbr />`);
}

/** Returns the name of what rejects a node: `POLICY/RULE` of a rule, or the plugin. */
export function getSourceName({ rule, policy, plugin }) {
  return rule ? `${policy}/${rule}` : plugin;
}

/** Names a plugin or a rule (`POLICY/RULE`); a rule is a link to its line. */
export function RejectedBy({ by }) {
  if (!by.includes("/")) return html`<b>${by || "PreFilter"}</b>`;
  return html`<a href=${makeRuleAddress(by)}><b>${by}</b></a>`;
}
