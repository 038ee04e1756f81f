// The changed pods or bindings of a plan, in groups with the same outcome and the same cause.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { formatCount, formatNumber } from "../numbers.js";
import { TableRegion, chooseText } from "./tables.js";

/** Counts pods or bindings by outcome: `outcomes` has { outcome, count, detail }, `texts` the words of each. */
export function OutcomeCounts({ outcomes, texts, children }) {
  return html`<ul class="outcomes">
    ${outcomes.map(({ outcome, count, detail }) => html`<li><b>${formatNumber(count)}</b> ${chooseText(texts[outcome], count)}${detail && ` (${detail})`}</li>`)}
    ${children}
  </ul>`;
}

/**
 * A section for each outcome with its groups.
 *
 * @param groups [{ outcome, cause, count, rows }], of which `rows` are the first
 * @param texts the words of each outcome in the order of gravity: { moved: ["would move", "would move"] }
 * @param heads the heads of the columns
 * @param Row shows a changed pod or binding, `each`, as a row
 */
export function ChangedGroups({ job, groups, texts, noun, heads, Row }) {
  const numbered = groups.map((group, number) => ({ ...group, number }));
  return Object.entries(texts).map(([outcome, forms]) => {
    const found = numbered.filter((group) => group.outcome === outcome);
    if (found.length === 0) return null;
    const count = found.reduce((sum, group) => sum + group.count, 0);
    const heading = `${formatCount(count, noun)} ${chooseText(forms, count)}`;
    return html`<h3 id=${`changed-${outcome}`} tabindex="-1">${heading}</h3>
      ${found.map(
        (group) => html`${found.length > 1 && html`<h4>${formatCount(group.count, noun)}: ${describeCause(group.cause)}</h4>`}
          <${Group} key=${`${job}/${group.number}`} job=${job} group=${group} noun=${noun} label=${heading} heads=${heads} Row=${Row} />`,
      )}`;
  });
}

/** The rows of a group: the first ones, and more after each press. */
function Group({ job, group, noun, label, heads, Row }) {
  const [rows, setRows] = useState(group.rows);
  const [error, setError] = useState(null);
  const left = group.count - rows.length;
  const showMore = () =>
    ask("plan-rows", { job, group: group.number, after: rows.length }).then(
      (answer) => setRows([...rows, ...answer.rows]),
      setError,
    );
  return html`<${TableRegion} label=${label}>
      <table class=${`changes of-${noun}s`}>
        <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
        <tbody>${rows.map((each) => html`<${Row} each=${each} />`)}</tbody>
      </table>
    <//>
    ${left > 0 && html`<button onClick=${showMore}>more of ${formatCount(left, `other ${noun}`)}</button>`}
    ${error && html`<p class="error" role="alert">${error.message}</p>`}`;
}

function describeCause({ kind, edits }) {
  const names = edits.join(", ");
  switch (kind) {
    case "edit":
      return `by ${names}`;
    case "together":
      return `by ${names} together`;
    case "several":
      return `by each of ${names}`;
    case "earlierPods":
      return "by pods placed before";
    case "profile":
      return "by a profile";
    case "others":
      return "by other edits";
    default:
      return "by an unknown cause";
  }
}

/** Names the edits of a plan without which a pod or a binding would have its old result. */
export function Cause({ cause }) {
  if (!cause) return null;
  return html`${cause.edits.map((name, index) => html`${index > 0 ? ", " : ""}<b>${name}</b>`)}
    ${cause.how && html`<br /><span class="quiet">${cause.how}</span>`}`;
}
