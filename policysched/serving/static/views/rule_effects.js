// How much each rule does in a cluster without a running scheduler, such as that of a file.

import { html } from "../html.js";
import { ask } from "../api.js";
import { Waiting, useAnswer } from "../loading.js";
import { formatCount, formatNumber } from "../numbers.js";

/** Returns { answer, error } with the counts of all rules; null if the scheduler counts them, or there are none. */
export function useRuleEffects(isCounted, generation) {
  return useAnswer(() => (isCounted ? ask("rule-effects") : Promise.resolve(null)), [isCounted, generation]);
}

/** Says what the counts are. */
export function EffectsNote({ effects: { answer, error, isWaiting } }) {
  if (error) return html`<p class="quiet">rules are not counted: ${error.message}</p>`;
  if (!answer) return isWaiting && html`<${Waiting} what="counting what the rules do" />`;
  const isPart = answer.decided < answer.pending;
  return html`<p class="quiet">Counted in this cluster as it is now, not over time: nodes are added up over pending pods, also if another filter rejects them too${isPart && `; ${formatNumber(answer.decided)} of ${formatCount(answer.pending, "pending pod")} are decided`}. Counts of decisions come from a running scheduler: start policysched ui with --decisions.</p>`;
}

/** Says on how many pods a rule acts, and what a filter does to the pending ones. */
export function RuleEffect({ effect, isFilter }) {
  const { placed, pending, rejectedNodes, rejectedPods } = effect;
  if (placed + pending === 0) return html`<p class="warning">acts on 0 pods: does nothing here</p>`;
  const pods = `acts on ${formatCount(placed + pending, "pod")}, ${formatNumber(pending)} pending`;
  if (!isFilter || pending === 0) return html`<p class="quiet">${pods}</p>`;
  if (rejectedNodes === 0) return html`<p class="quiet">${pods}; <b class="warning">rejects 0 nodes</b>: does nothing for these</p>`;
  return html`<p class="quiet">${pods}; rejects <b>${formatCount(rejectedNodes, "node")}</b> for ${formatNumber(rejectedPods)}</p>`;
}
