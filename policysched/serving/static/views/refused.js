// Which clusters reject a binding, with the values behind each reason, and which filter alone does.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { formatCount } from "../numbers.js";
import { makeNodeAddress } from "../routes.js";
import { Links, RejectedBy, getSourceName } from "./links.js";
import { Rejections } from "./node.js";
import { MoreRows, TableRegion } from "./tables.js";

const MOST_CLUSTERS = 50;
/** So many clusters are shown at once; more of them hide what follows. */
const MOST_OPEN = 8;

/** @param refused the rejections of each cluster that does not pass, keyed by its name */
export function Refused({ refused }) {
  const clusters = Object.entries(refused);
  const [isOpen, setIsOpen] = useState(clusters.length <= MOST_OPEN);
  if (clusters.length === 0) return null;
  return html`<section>
    <${Obstacles} clusters=${clusters} />
    <button aria-expanded=${isOpen} onClick=${() => setIsOpen(!isOpen)}>every reason of ${formatCount(clusters.length, "rejected cluster")}</button>
    ${isOpen && html`<${TableRegion} label="Rejected clusters"><table class="cards">
        <thead><tr><th scope="col">cluster</th><th scope="col">rejected by</th></tr></thead>
        <tbody>
          ${clusters.slice(0, MOST_CLUSTERS).map(
            ([name, rejections]) => html`<tr><th scope="row"><a href=${makeNodeAddress(name)}>${name}</a></th><td><${Rejections} rejections=${rejections} /></td></tr>`,
          )}
        </tbody>
      </table><//>
      <${MoreRows} count=${clusters.length} shown=${Math.min(clusters.length, MOST_CLUSTERS)} noun="cluster" />`}
  </section>`;
}

/** Says how many clusters would pass without one filter: those that nothing else rejects. */
function Obstacles({ clusters }) {
  const alone = new Map();
  for (const [name, rejections] of clusters) {
    const [by, ...others] = new Set(rejections.map(getSourceName));
    if (others.length === 0) alone.set(by, [...(alone.get(by) ?? []), name]);
  }
  const sorted = [...alone].sort(([, one], [, other]) => other.length - one.length);
  return html`<h3>What one filter alone keeps away</h3>
    ${sorted.length === 0
      ? html`<p>Each of these clusters is rejected by several filters.</p>`
      : html`<ul class="advice">${sorted.map(([by, names]) => html`<li>without <${RejectedBy} by=${by} />, ${formatCount(names.length, "cluster")} more would pass: <${Links} names=${names} makeAddress=${makeNodeAddress} /></li>`)}</ul>`}`;
}
