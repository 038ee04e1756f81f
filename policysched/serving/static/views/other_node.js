// Why a node that the reader names does not take the pod, or does not win.

import { html } from "../html.js";
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatDifference, formatNumber } from "../numbers.js";
import { go, makeNodeAddress, makePodAddress } from "../routes.js";
import { describeChoice, describeComparison } from "../targets.js";
import { showText } from "../visible.js";
import { words } from "../words.js";
import { NodeLink, RejectedBy } from "./links.js";
import { Rejections } from "./node.js";

const PAUSE_MILLISECONDS = 150;

export function OtherNode({ pod, answer, node, generation }) {
  const choose = (event) => {
    event.preventDefault();
    go(makePodAddress(pod, { node: new FormData(event.target).get("node").trim() }));
  };
  return html`<section>
    <h2>Why not another ${words.node}</h2>
    <form onSubmit=${choose}>
      <${NodeField} node=${node} />
      <button>why not</button>
    </form>
    ${node && html`<${Compared} key=${node} pod=${pod} answer=${answer} node=${node} generation=${generation} />`}
  </section>`;
}

/** A field that keeps what is typed when the view is drawn again, and suggests names. */
function NodeField({ node }) {
  const [text, setText] = useState(node);
  const [names, setNames] = useState([]);
  useEffect(() => setText(node), [node]);
  useEffect(() => {
    if (text === "" || text === node) return undefined;
    const timer = setTimeout(() => {
      ask("find", { text: text.slice(0, 200) }).then(
        (answer) => setNames(answer.nodes.filter((name) => showText(name) === name)), // a browser shows them as they are
        () => setNames([]),
      );
    }, PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<label>${words.node} <input name="node" size=${Math.max(20, text.length)} list="node-names" value=${text} onInput=${(event) => setText(event.target.value)} autocomplete="off" spellcheck=${false} /></label>
    <datalist id="node-names">${names.map((name) => html`<option key=${name} value=${name} />`)}</datalist>`;
}

function Compared({ pod, answer, node, generation }) {
  const { answer: found, error } = useAnswer(() => ask("compare", { pod, node }), [pod, node, generation]);
  const place = useRef(null);
  const isAnswered = Boolean(error || found);
  useEffect(() => void (isAnswered && place.current.scrollIntoView({ block: "nearest" })), [isAnswered]);
  return html`<div ref=${place}><${Comparison} answer=${answer} node=${node} found=${found} error=${error} /></div>`;
}

function Comparison({ answer, node, found, error }) {
  if (!found || found.node !== node) return html`<${Waiting} error=${error} what="asking the filters" />`;
  if (found.isUnknown) return html`<p class="error" role="alert">There is no ${words.node} “${node}”.</p>`;
  if (!found.fits) {
    return html`<p class="rejected"><a href=${makeNodeAddress(node)}>${node}</a> is rejected by</p>
      <${Rejections} rejections=${found.rejections} />`;
  }
  if (words.areBindings) {
    const choice = describeChoice(found, answer);
    return html`<p class="fits"><${NodeLink} node=${node} /> ${describeComparison(found)}</p>${choice && html`<p>${choice}</p>`}`;
  }
  const [winner] = answer.ranking;
  if (!found.points || !winner) return html`<p class="fits">${node} fits</p>`;
  return html`<${Leads} found=${found} winner=${winner} rules=${answer.rules} />`;
}

/** Says by which rules the winner has more points than a node that fits. */
function Leads({ found, winner, rules }) {
  const leads = rules
    .map((rule, index) => [rule.name, winner.points[index] - found.points[rule.name]])
    .filter(([, lead]) => lead !== 0)
    .sort((one, other) => other[1] - one[1]);
  const total = winner.total - found.points.total;
  const points = `${found.node} fits, with ${formatNumber(found.points.total)} points: `;
  if (total === 0) return html`<p class="fits">${points}as many as ${winner.node}</p>`;
  return html`<p class="fits">${points}${formatNumber(Math.abs(total))} ${total > 0 ? "fewer" : "more"} than ${winner.node}</p>
    ${total > 0 && html`<p>decided by <${RejectedBy} by=${leads[0][0]} />; the leads of ${winner.node}:</p>`}
    <ul>${leads.map(([name, lead]) => html`<li><b>${name}</b> ${formatDifference(lead)}</li>`)}</ul>`;
}
