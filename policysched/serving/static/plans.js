// The last plan, which the editor makes and the map can show.

import { askPlan, startPlan } from "./api.js";

const WAIT_SECONDS = 1;

/** { plan, job } of the last plan that was made in this tab, or null. */
let lastPlan = null;

export function getLastPlan() {
  return lastPlan;
}

/**
 * Makes a plan for edited texts, and returns its answer. `onProgress` gets each progress. An
 * answer with an error has no plan.
 */
export async function makePlan(inUse, texts, onProgress) {
  const { job } = await startPlan(inUse, texts);
  for (;;) {
    const answer = await askPlan(job, WAIT_SECONDS);
    if (answer.plan) lastPlan = answer;
    if (answer.plan || answer.error) return answer;
    onProgress(answer);
  }
}

const NODE_CHANGES = ["gains and loses pods", "gains pods", "loses pods", "no change"];

/** Returns a function from the name of a node to its index in `NODE_CHANGES`. */
export function describeNodeChanges(plan) {
  const [gains, loses] = [new Set(), new Set()];
  for (const { from, to } of plan.changes) {
    if (from.node === to.node) continue;
    if (to.node !== null) gains.add(to.node);
    if (from.node !== null) loses.add(from.node);
  }
  return (node) => {
    if (gains.has(node)) return loses.has(node) ? 0 : 1;
    return loses.has(node) ? 2 : 3;
  };
}

export { NODE_CHANGES };
