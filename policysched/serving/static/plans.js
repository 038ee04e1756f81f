// The last plan, which the editor makes and the map can show.

import { askPlan, startPlan } from "./api.js";
import { formatCount } from "./numbers.js";
import { words } from "./words.js";

const WAIT_SECONDS = 1;

/** The answer with the last plan that was made in this tab, or null; `nodes` has the pods that each gains and loses. */
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

/** Returns how a plan can change a node, in words. */
export function listNodeChanges() {
  return [`gains and loses ${words.pod}s`, `gains ${words.pod}s`, `loses ${words.pod}s`, "no change"];
}

/** Returns the index in `listNodeChanges` of { gained, lost }, which is undefined for no change. */
export function findNodeChange(change) {
  if (change === undefined) return 3;
  if (change.gained > 0) return change.lost > 0 ? 0 : 1;
  return 2;
}

/** Returns numbers of pods { gained, lost } in words; "" for none. */
export function describeNodeChange({ gained, lost }) {
  return [gained > 0 && `gains ${formatCount(gained, words.pod)}`, lost > 0 && `loses ${formatCount(lost, words.pod)}`]
    .filter(Boolean)
    .join(", ");
}
