// What edited policies would do to the pods of the cluster: the form of `plan -o json`.

import { html } from "../html.js";
import { useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makeAddress, makeNodeAddress, makePodAddress } from "../routes.js";
import { words } from "../words.js";
import { RejectedBy, getSourceName } from "./links.js";
import { BindingChanges, BindingSummary } from "./plan_bindings.js";
import { Cause, OutcomeCounts, OutcomeSection } from "./tables.js";

const MOST_ROWS = 200;
/** The outcomes of pods in the order of their gravity; see schemas/plan.schema.json. */
const OUTCOMES = {
  unschedulable: ["becomes unschedulable", "become unschedulable"],
  profileRemoved: ["loses its profile", "lose their profile"],
  moved: ["would move", "would move"],
  schedulable: ["becomes schedulable", "become schedulable"],
  profileAdded: ["gets a profile", "get a profile"],
  victims: ["would evict other pods", "would evict other pods"],
  nodes: ["gets the same node, but fits on others", "get the same node, but fit on others"],
  reason: ["is Pending for another reason", "are Pending for another reason"],
};

export function PlanReport({ plan, isOld }) {
  return html`<section class="plan" aria-label="Plan" aria-live="polite">
    <h2>Plan: what these edits would change</h2>
    ${plan === null && html`<p class="quiet">Plan decides about every ${words.pod} with the policies in use and with the edited ones. Nothing is written to a cluster.</p>`}
    ${plan !== null && isOld && html`<p class="warning">The policies were edited after this plan.</p>`}
    ${plan !== null && html`<${Outcome} plan=${plan} />`}
  </section>`;
}

function Outcome({ plan }) {
  if (plan.error) return html`<pre class="error" role="alert" tabindex="0">${plan.error}</pre>`;
  if (!plan.plan) return html`<${Waiting} what=${`${plan.part}${plan.of > 0 ? ` ${formatNumber(plan.done)} of ${formatNumber(plan.of)}` : ""}`} />`;
  return html`<${Report} answer=${plan} report=${plan.plan} />`;
}

function Report({ answer, report }) {
  const { bindings } = report;
  return html`
    ${bindings ? html`<${BindingSummary} summary=${bindings.summary} />` : html`<${Summary} summary=${report.summary} />`}
    <p><a href=${makeAddress(["cluster"], { colour: "plan" })}>show on the map</a></p>
    <${Edits} edits=${bindings ? bindings.edits : report.edits} />
    <${Rejections} title="newly rejects" rows=${report.rejects} />
    <${Rejections} title="no longer rejects" rows=${report.admits} />
    ${bindings
      ? html`<${BindingChanges} changes=${bindings.changes} summary=${bindings.summary} />`
      : html`<${Changes} changes=${report.changes} summary=${report.summary} />`}
    <${CopyPlan} job=${answer.job} />
  `;
}

function Summary({ summary }) {
  const { running, pending } = summary;
  const counts = Object.keys(OUTCOMES)
    .map((outcome) => [outcome, running[outcome] + pending[outcome]])
    .filter(([, count]) => count > 0);
  return html`<p>${formatCount(running.pods, "running pod")}, ${formatCount(pending.pods, "pending pod")}${counts.length === 0 ? ": no pod changes" : ""}</p>
    <${OutcomeCounts} outcomes=${counts} texts=${OUTCOMES}>
      ${summary.nodeLost > 0 && html`<li><b>${formatNumber(summary.nodeLost)}</b> would no longer fit on their present node</li>`}
    <//>
    ${summary.unserved > 0 && html`<p class="quiet">${formatCount(summary.unserved, "pod")} of other schedulers left out</p>`}`;
}

function Edits({ edits }) {
  if (edits.length === 0) return html`<p>The edits change no rule.</p>`;
  return html`<ul class="edits">
    ${edits.map(
      (each) => html`<li>
        ${each.change} <b>${each.name}</b>: changes ${formatCount(countPods(each), words.pod)}${each.note ? ` (${each.note})` : ""}
        ${each.old && html`<code>− ${each.old}</code>`}
        ${each.new && html`<code>+ ${each.new}</code>`}
      </li>`,
    )}
  </ul>`;
}

function countPods(edit) {
  return Object.values(edit.pods ?? edit.bindings).reduce((sum, count) => sum + count, 0);
}

function Rejections({ title, rows }) {
  return html`<ul>
    ${rows.slice(0, 10).map(
      (each) => html`<li>
        <${RejectedBy} by=${getSourceName(each)} />${" "}
        ${title} ${formatCount(each.nodes.length, "node")}: ${each.reason}
      </li>`,
    )}
  </ul>`;
}

function Changes({ changes, summary }) {
  return Object.keys(OUTCOMES).map((outcome) => {
    const count = summary.running[outcome] + summary.pending[outcome];
    const rows = changes.filter((each) => each.outcome === outcome);
    return count > 0 && html`<${OutcomeTable} outcome=${outcome} count=${count} rows=${rows} />`;
  });
}

/** @param rows the pods that the answer names, which are the first of `count` */
function OutcomeTable({ outcome, count, rows }) {
  const shown = rows.slice(0, MOST_ROWS);
  return html`<${OutcomeSection} Heading="h3" noun="pod" texts=${OUTCOMES[outcome]} count=${count} shown=${shown.length}>
    <table class="changes">
      <thead><tr><th scope="col">pod</th><th scope="col">before → after</th><th scope="col">by</th></tr></thead>
      <tbody>
        ${shown.map(
          (each) => html`<tr>
            <th scope="row"><a href=${makePodAddress(each.pod)}>${each.pod}</a></th>
            <td><${Fate} fate=${each.from} /> → <${Fate} fate=${each.to} /></td>
            <td><${Cause} cause=${each.cause} /></td>
          </tr>`,
        )}
      </tbody>
    </table>
  <//>`;
}

function Fate({ fate }) {
  if (fate.node === null) return html`<span title=${fate.message}>nowhere</span>`;
  return html`<a href=${makeNodeAddress(fate.node)}>${fate.node}</a>`;
}

function CopyPlan({ job }) {
  const [form, setForm] = useState("");
  return html`<div class="buttons">
      <button aria-expanded=${form === "text"} onClick=${() => setForm(form === "text" ? "" : "text")}>as text</button>
      <button aria-expanded=${form === "markdown"} onClick=${() => setForm(form === "markdown" ? "" : "markdown")}>as Markdown</button>
    </div>
    ${form && html`<${PlanCopy} job=${job} form=${form} />`}`;
}

function PlanCopy({ job, form }) {
  const { answer, error } = useAnswer(() => ask("plan-text", { job, form }), [job, form]);
  if (!answer) return html`<${Waiting} error=${error} what="writing the text" />`;
  return html`<pre tabindex="0">${answer.text}</pre>
    <button onClick=${() => navigator.clipboard.writeText(answer.text)}>copy</button>`;
}
