// One binding of Karmada: its clusters now and after a decision, filters, points, and the two steps.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatDifference, formatNumber } from "../numbers.js";
import { makeAddress, makeNodeAddress, makePodAddress, makeRuleAddress } from "../routes.js";
import { NO_LIMIT, compareTargets, formatTargets } from "../targets.js";
import { OtherNode } from "./other_node.js";
import { Copy, Funnel } from "./pod.js";
import { Points } from "./points.js";
import { Refused } from "./refused.js";
import { MoreRows, TableRegion } from "./tables.js";

const MOST_NAMES = 20;
/** What a scheduler does with a binding that has clusters, and with one that has none. */
const NEXT_ACTIONS = {
  fit: ["a scheduler takes its clusters away, and waits for a change", "a scheduler waits for a change"],
  unschedulable: ["a scheduler leaves its clusters as they are, and tries again", "a scheduler tries again"],
  other: ["a scheduler leaves its clusters as they are, and tries again", "a scheduler tries again"],
};
const STATEMENTS = {
  clusterGroup: "the groups of clusters",
  spreadConstraint: "the spread constraints",
  replicas: "the division of replicas",
};

export function BindingView({ binding, options, generation }) {
  const { answer, error, isWaiting } = useAnswer(() => ask("explain", { pod: binding }), [binding, generation]);
  if (!answer || (isWaiting && answer.pod !== binding)) {
    return html`<${Waiting} error=${error} what="deciding about the binding" />`;
  }
  const number = options.get("attempt");
  const shown = { ...answer, ...answer.attempts[number] };
  return html`<article class="pod">
    <h1>${answer.pod}</h1>
    <${Summary} answer=${answer} />
    <${Copy} pod=${binding} generation=${generation} />
    <${Targets} answer=${answer} />
    ${answer.attempts.length > 1 && html`<${Attempts} answer=${answer} number=${number} />`}
    <${Funnel} answer=${shown} />
    <${Refused} key=${`${answer.pod} ${number}`} refused=${shown.refused} />
    ${shown.ranking.length > 0 && html`<${Points} answer=${shown} /><${Candidates} attempt=${shown} />`}
    ${shown.ranking.length > 0 && html`<${Steps} attempt=${shown} answer=${answer} />`}
    <${OtherNode} pod=${binding} answer=${answer} node=${options.get("node") ?? ""} generation=${generation} />
  </article>`;
}

function Summary({ answer }) {
  const isSame = answer.present.length > 0 && compareTargets(answer.present, answer.shares).every(({ now, next }) => now === next);
  const requests = Object.entries(answer.requests).map(([name, amount]) => `${name} ${amount}`).join(", ");
  const via = answer.observedAffinity ? `, by the affinity ${answer.observedAffinity}` : "";
  return html`
    ${answer.message
      ? html`<p class="rejected">gets no cluster</p><p class="message">${answer.message}</p>
          <p>${NEXT_ACTIONS[answer.errorKind]?.[answer.present.length > 0 ? 0 : 1]}</p>`
      : html`<p class="fits">${isSame ? "stays on" : "goes to"} ${formatTargets(answer.shares)}${via}</p>`}
    ${answer.gate && html`<p class="warning">it is not scheduled: ${answer.gate}</p>`}
    <p class="quiet">
      ${answer.replicas > 0 ? formatCount(answer.replicas, "replica") : "no replicas"}${requests && `, each with ${requests}`}, scheduler ${answer.profile}${answer.policies.length ? `, policies ${answer.policies.join(", ")}` : ", no policies"}${answer.priority === 0 ? "" : `, priority ${formatNumber(answer.priority)}`} ·${" "}
      <a href=${makeAddress(["cluster"], { pod: answer.pod })}>on the map</a>
    </p>
    ${answer.additions.filter(({ adds }) => adds.length > 0).map((policy) => html`<${Additions} policy=${policy} />`)}
  `;
}

/** Names the statements of a policy that complete the placement, with links to their lines. */
function Additions({ policy }) {
  const defined = Object.keys(STATEMENTS).filter((kind) => policy.adds.some(({ statement }) => statement === kind));
  return html`<p class="quiet">clusterPolicy ${policy.policy} defines ${defined.map(
    (kind, index) => html`${index > 0 ? ", " : ""}${STATEMENTS[kind]} (<${StatementLinks} additions=${[policy]} kind=${kind} />)`,
  )}</p>`;
}

/** Links to the statements of one kind by which policies complete the placement. */
function StatementLinks({ additions, kind }) {
  const names = additions.flatMap(({ adds }) => adds.filter(({ statement }) => statement === kind).map(({ name }) => name));
  return names.map((name, index) => html`${index > 0 ? ", " : ""}<a href=${makeRuleAddress(name)}>${name}</a>`);
}

function Targets({ answer }) {
  const rows = compareTargets(answer.present, answer.shares);
  if (rows.length === 0) return html`<section><h2>Clusters</h2><p>It has no clusters.</p></section>`;
  const isSame = rows.every(({ now, next }) => now === next);
  return html`<section>
    <h2>Clusters now, and after a decision</h2>
    <${TargetChanges} head="cluster" rows=${rows.map((row) => ({ ...row, address: makeNodeAddress(row.name) }))} />
    ${answer.present.length > 0 && !isSame && html`<p class="quiet">Karmada decides again about a placed binding only after a change, such as another placement or other replicas.</p>`}
  </section>`;
}

/** The replicas of each row, now and after a decision; a row has a name and the address that it leads to. */
export function TargetChanges({ head, rows }) {
  return html`<table class="targets">
    <thead><tr><th scope="col">${head}</th><th scope="col">now</th><th scope="col">decided</th><th scope="col">difference</th></tr></thead>
    <tbody>
      ${rows.map(
        ({ name, address, now, next }) => html`<tr>
          <th scope="row"><a href=${address}>${name}</a></th>
          <td>${formatReplicas(now)}</td>
          <td>${formatReplicas(next)}</td>
          <td>${describeDifference(now, next)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}

function formatReplicas(count) {
  if (count === null) return "–";
  return count === 0 ? "the resource" : formatNumber(count);
}

function describeDifference(now, next) {
  if (now === null) return next === 0 ? "gained" : `gained, +${formatNumber(next)}`;
  if (next === null) return now === 0 ? "lost" : `lost, −${formatNumber(now)}`;
  return formatDifference(next - now);
}

/** The affinity terms that were tried, in their order; each has filters and points of its own. */
function Attempts({ answer, number }) {
  const decisive = answer.message ? 0 : answer.attempts.length - 1;
  const chosen = number === null ? decisive : Number(number);
  return html`<section>
    <h2>Attempts, in their order</h2>
    <${TableRegion} label="Attempts">
      <table class="cards">
        <thead><tr><th scope="col">affinity</th><th scope="col">clusters that pass</th><th scope="col">result</th></tr></thead>
        <tbody>
          ${answer.attempts.map(
            (each, index) => html`<tr class=${index === chosen ? "chosen" : ""}>
              <th scope="row"><a href=${makePodAddress(answer.pod, { attempt: index })} aria-current=${index === chosen ? "true" : undefined}>${each.affinity || "without a name"}</a></th>
              <td data-title="clusters that pass">${formatNumber(each.feasible)}</td>
              <td>${each.error || formatTargets(each.shares)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    <//>
    <p class="quiet">Below are the filters, points and steps of the marked attempt.</p>
  </section>`;
}

function Candidates({ attempt }) {
  const hasTiers = attempt.ranking.some((each) => each.tier > 0);
  const shares = new Map(attempt.shares.map((each) => [each.name, each.replicas]));
  const chosen = new Set(attempt.selection?.clusters);
  const columns = listDivisionColumns(attempt.division);
  return html`<section>
    <h2>Clusters that pass, best first</h2>
    <${TableRegion} label="Clusters that pass">
      <table class="bindings cards">
        <thead>
          <tr>
            <th scope="col">cluster</th><th scope="col">result</th><th scope="col">points</th>
            ${columns.map(({ title }) => html`<th scope="col">${title}</th>`)}
            <th scope="col">capacity for replicas</th><th scope="col">replicas now</th>
            ${hasTiers && html`<th scope="col">overflow tier</th>`}
          </tr>
        </thead>
        <tbody>
          ${attempt.ranking.map(
            (each) => html`<tr>
              <th scope="row"><a href=${makeNodeAddress(each.node)}>${each.node}</a></th>
              <td>${describeResult(each.node, shares, chosen)}</td>
              <td data-title="points">${formatNumber(each.total)}</td>
              ${columns.map(({ title, show }) => html`<td data-title=${title}>${show(each.node)}</td>`)}
              <td data-title="capacity for replicas">${each.room === NO_LIMIT ? "not asked" : formatNumber(each.room)}</td>
              <td data-title="replicas now">${formatNumber(each.present)}</td>
              ${hasTiers && html`<td data-title="overflow tier">${formatNumber(each.tier)}</td>`}
            </tr>`,
          )}
        </tbody>
      </table>
    <//>
    ${attempt.division?.by === "score" && html`<p class="quiet">points are whole, as clusters are compared by them; weights keep the fraction</p>`}
    <${MoreRows} count=${attempt.feasible} shown=${attempt.ranking.length} noun="cluster" />
  </section>`;
}

/** Returns the columns of a division: the replicas that stay, and the weights by which others are divided. */
function listDivisionColumns(division) {
  const makeColumn = (title, numbers, scale) => ({ title, numbers, show: (name) => (Object.hasOwn(numbers, name) ? formatNumber(numbers[name] / scale) : "–") });
  const columns = division
    ? [makeColumn("replicas that stay", division.kept, 1), makeColumn("weight", division.weights, division.by === "score" ? 100 : 1)]
    : [];
  return columns.filter(({ numbers }) => Object.keys(numbers).length > 0);
}

function describeResult(name, shares, chosen) {
  if (shares.has(name)) return shares.get(name) === 0 ? "gets the resource" : `gets ${formatCount(shares.get(name), "replica")}`;
  return chosen.has(name) ? "chosen, gets no replica" : "not chosen";
}

/** The two steps of an attempt, also if no clusters could be chosen. */
function Steps({ attempt, answer }) {
  const { selection, division, spreadConstraints } = attempt;
  return html`<section>
    <h2>How clusters ${selection ? "were chosen, and replicas divided" : "would be chosen"}</h2>
    <ul class="advice">
      ${spreadConstraints.length > 0 && html`<li><b>spread constraints</b>: ${spreadConstraints.map(formatConstraint).join(", ")}, <${ConstraintSource} additions=${answer.additions} /></li>`}
      ${selection
        ? html`<li><b>chosen</b>: ${listNames(selection.clusters)} (${selection.how})</li>`
        : html`<li><b>chosen</b>: none, because ${attempt.error}</li><${Capacity} attempt=${attempt} replicas=${answer.replicas} />`}
      ${division && html`<li><b>replicas</b>: ${division.replicas > 0 ? `${formatNumber(division.replicas)}, ` : ""}${division.how}</li>`}
    </ul>
  </section>`;
}

function formatConstraint({ by, minGroups, maxGroups }) {
  return `by ${by || "label"} (${formatNumber(minGroups)} to ${maxGroups === null ? "any number" : formatNumber(maxGroups)})`;
}

/** Says whose the spread constraints are: of a policy, if one has completed the placement. */
function ConstraintSource({ additions }) {
  const isOfPolicy = additions.some(({ adds }) => adds.some(({ statement }) => statement === "spreadConstraint"));
  return isOfPolicy ? html`from <${StatementLinks} additions=${additions} kind="spreadConstraint" />` : "from the placement of the binding";
}

/** Adds up the replicas for which the clusters that pass have capacity; those that they have count. */
function Capacity({ attempt, replicas }) {
  const { ranking, feasible } = attempt;
  if (ranking.length < feasible || ranking.some(({ room }) => room === NO_LIMIT)) return null;
  const sum = ranking.reduce((total, { room, present }) => total + room + present, 0);
  return html`<li><b>capacity</b>: the ${formatCount(feasible, "cluster")} that pass have room for ${formatCount(sum, "replica")} together, and the binding has ${formatNumber(replicas)}</li>`;
}

function listNames(names) {
  const rest = names.length - MOST_NAMES;
  return rest > 0 ? `${names.slice(0, MOST_NAMES).join(", ")} and ${formatNumber(rest)} more` : names.join(", ");
}
