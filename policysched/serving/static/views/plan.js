// What edited policies would do to the pods of the cluster: the form of `plan -o json`.

import { html } from "../html.js";
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";
import { makeAddress, makeNodeAddress, makePodAddress } from "../routes.js";
import { words } from "../words.js";
import { CopyButton } from "./copy_button.js";
import { ErrorText } from "./error_text.js";
import { NodeLink, RejectedBy, ShortName, getSourceName } from "./links.js";
import { BindingChanges, BindingSummary } from "./plan_bindings.js";
import { CauseNames, ChangedGroups, OutcomeCounts, Routes } from "./plan_changes.js";

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
/** The groups of pods whose present node would reject them; they are also in the group of their outcome. */
const NODE_LOST = { nodeLost: ["would no longer fit on its present node", "would no longer fit on their present node"] };
/** The heads of columns, with what they mean. */
const HEADS = {
  pod: "the pod; the table above has the reason",
  now: "the node on which the pod runs",
  from: "the decision with the policies in use",
  to: "the decision with the edited policies",
  cause: "the edits without which the decision would be the old one",
};
/** Longer names are shown without their middle: a row has one pod and three nodes. */
const MOST_OF_POD = 20;
const MOST_OF_NODE = 12;
const MOST_OF_ROUTE = 20;

export function PlanReport({ plan, isOld }) {
  const section = useRef(null);
  const stage = describeStage(plan);
  const seen = useRef(stage);
  useEffect(() => {
    const isBelow = section.current.getBoundingClientRect().top > window.innerHeight / 2;
    if (stage !== seen.current && isBelow) section.current.scrollIntoView(); // a narrow screen
    seen.current = stage;
  }, [stage]);
  return html`<section class="plan" aria-label="Plan" aria-live="polite" ref=${section}>
    <h2>Plan: what these edits would change</h2>
    ${plan === null && html`<p class="quiet">Plan decides about every ${words.pod} with the policies in use and with the edited ones. Nothing is written to a cluster.</p>`}
    ${plan !== null && isOld && html`<p class="warning">The policies were edited after this plan.</p>`}
    ${plan !== null && html`<${Outcome} plan=${plan} />`}
  </section>`;
}

function describeStage(plan) {
  if (plan === null) return "none";
  return plan.plan || plan.error ? "ended" : "started";
}

function Outcome({ plan }) {
  if (plan.error) return html`<${ErrorText} text=${plan.error} />`;
  if (!plan.plan) return html`<${Waiting} what=${`${plan.part}${plan.of > 0 ? ` ${formatNumber(plan.done)} of ${formatNumber(plan.of)}` : ""}`} />`;
  return html`<${Report} answer=${plan} report=${plan.plan} />`;
}

function Report({ answer, report }) {
  const { bindings } = report;
  const isMapped = Object.keys(answer.nodes).length > 0;
  return html`
    ${bindings ? html`<${BindingSummary} summary=${bindings.summary} />` : html`<${Summary} summary=${report.summary} />`}
    <${CopyPlan} job=${answer.job} />
    ${isMapped && html`<p><a href=${makeAddress(["cluster"], { colour: "plan" })}>show on the map</a></p>`}
    <${Edits} edits=${bindings ? bindings.edits : report.edits} />
    <${Rejections} title="newly rejects" rows=${report.rejects} />
    <${Rejections} title="no longer rejects" rows=${report.admits} />
    ${bindings
      ? html`<${BindingChanges} job=${answer.job} groups=${answer.groups} />`
      : html`<${Routes} groups=${answer.groups} outcomes=${Object.keys(OUTCOMES)} Route=${PodRoute} />
          <${ChangedGroups} job=${answer.job} groups=${answer.groups} texts=${{ ...OUTCOMES, ...NODE_LOST }} noun="pod" heads=${HEADS} Row=${PodRow} />`}
  `;
}

function Summary({ summary }) {
  const { running, pending } = summary;
  const counts = Object.keys(OUTCOMES)
    .map((outcome) => ({
      outcome,
      count: running[outcome] + pending[outcome],
      detail: [[running, "running"], [pending, "pending"]]
        .filter(([of]) => of[outcome] > 0)
        .map(([of, phase]) => `${formatNumber(of[outcome])} ${phase}`)
        .join(", "),
    }))
    .filter(({ count }) => count > 0);
  const showLost = () => {
    const heading = document.querySelector("#changed-nodeLost");
    heading.scrollIntoView();
    heading.focus();
  };
  return html`<p>${formatCount(running.pods, "running pod")}, ${formatCount(pending.pods, "pending pod")}${counts.length === 0 ? ": no pod changes" : ""}</p>
    <${OutcomeCounts} outcomes=${counts} texts=${OUTCOMES}>
      ${summary.nodeLost > 0 && html`<li><b>${formatNumber(summary.nodeLost)}</b> would no longer fit on their present node <button onClick=${showLost}>list</button></li>`}
    <//>
    ${counts.some(({ outcome }) => running[outcome] > 0) && html`<p class="quiet">A plan compares decisions, from the policies in use to the edited ones. Running pods stay on their present node: a scheduler does not move them.</p>`}
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

function PodRow({ each }) {
  return html`<tr>
    <th scope="row"><a href=${makePodAddress(each.pod)}><${ShortName} name=${each.pod} most=${MOST_OF_POD} /></a></th>
    <td data-title="now">${each.node ? html`<${ShortLink} node=${each.node} most=${MOST_OF_NODE} />` : each.phase}${each.nodeLost && html` <span class="quiet">no longer fits</span>`}</td>
    <td class="from"><${Fate} fate=${each.from} most=${MOST_OF_NODE} /></td>
    <td class="to"><${Fate} fate=${each.to} most=${MOST_OF_NODE} /></td>
    <td title=${each.cause?.how}><${CauseNames} cause=${each.cause} /></td>
  </tr>`;
}

function Fate({ fate, most }) {
  if (fate.node === null) return html`<span title=${fate.message}>nowhere</span>`;
  return html`<${ShortLink} node=${fate.node} most=${most} />${fate.victims.length > 0 && `, evicts ${fate.victims.join(", ")}`}`;
}

function ShortLink({ node, most }) {
  return html`<a href=${makeNodeAddress(node)}><${ShortName} name=${node} most=${most} /></a>`;
}

/** Shows the decisions on both sides, and the reason if the new one is for no node. */
function PodRoute({ from, to }) {
  if (from.node !== null && from.node === to.node) return html`<${Fate} fate=${to} most=${MOST_OF_ROUTE} /> as before`;
  return html`<${Fate} fate=${from} most=${MOST_OF_ROUTE} /> → <${Fate} fate=${to} most=${MOST_OF_ROUTE} />${to.node === null && html`<p class="quiet">${to.message}</p>`}`;
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
    <${CopyButton} text=${answer.text} />`;
}
