// The changed pods or bindings of a plan, in groups with the same outcome and the same cause.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { formatCount, formatNumber } from "../numbers.js";
import { breakName } from "./links.js";
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
 * @param heads the heads of the columns, with what they mean
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

/**
 * The whole plan in a few rows: how many pods go from one node to another, and why.
 *
 * @param groups { routes: [{ count, example }], routeCount } of each, of which `routes` are the most frequent
 * @param outcomes the order of the groups
 * @param Route shows the decisions { from, to } on both sides
 */
export function Routes({ groups, outcomes, Route }) {
  const sorted = outcomes.flatMap((outcome) => groups.filter((group) => group.outcome === outcome));
  if (sorted.length === 0) return null;
  return html`<h3>Changes by cause</h3>
    <${TableRegion} label="Changes by cause">
      <table class="routes cards">
        <thead><tr><th scope="col">from → to</th><th scope="col">pods</th><th scope="col">cause</th></tr></thead>
        <tbody>${sorted.map((group) => html`<${RouteRows} group=${group} Route=${Route} />`)}</tbody>
      </table>
    <//>`;
}

function RouteRows({ group, Route }) {
  const { routes, routeCount, count } = group;
  const others = count - routes.reduce((sum, route) => sum + route.count, 0);
  return html`${routes.map(
      (route) => html`<tr>
        <th scope="row"><${Route} from=${route.example.from} to=${route.example.to} /></th>
        <td data-title="pods">${formatNumber(route.count)}</td>
        <td><${Cause} cause=${route.example.cause} /></td>
      </tr>`,
    )}
    ${others > 0 && html`<tr>
      <th scope="row">${formatCount(routeCount - routes.length, "other change")} of this kind</th>
      <td data-title="pods">${formatNumber(others)}</td>
      <td>${describeCause(group.cause)}</td>
    </tr>`}`;
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
      <table class=${`changes of-${noun}s${noun === "pod" ? " cards" : ""}`}>
        <thead><tr>${Object.entries(heads).map(([head, title]) => html`<th scope="col" title=${title}>${head}</th>`)}</tr></thead>
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
  return html`<${CauseNames} cause=${cause} />${cause?.how && html`<br /><span class="quiet">${cause.how}</span>`}`;
}

/** Names these edits without what they do to one pod. */
export function CauseNames({ cause }) {
  return cause && cause.edits.map((name, index) => html`${index > 0 ? ", " : ""}<b>${breakName(name)}</b>`);
}
