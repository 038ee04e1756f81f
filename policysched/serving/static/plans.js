// The last plan, which the editor makes and the map can show.

import { askPlan, startPlan } from "./api.js";
import { formatCount, formatNumber } from "./numbers.js";
import { makeShared } from "./shared.js";
import { words } from "./words.js";

const WAIT_SECONDS = 1;

/** The plan that was started last, see `usePlan`. */
const started = makeShared(null);
/** The answer with the last plan that was finished in this tab, or null. */
let lastPlan = null;

/** Returns the last finished plan; `nodes` has how many pods each node was and was not chosen for before. */
export function getLastPlan() {
  return lastPlan;
}

/**
 * Returns { texts, ...answer } of the plan that was started last: its progress, its outcome or its
 * error; null before the first one.
 */
export function usePlan() {
  return started.use();
}

/** Makes a plan for edited texts, which takes the place of one in progress. */
export async function makePlan(inUse, texts) {
  let shown = null;
  const isCurrent = () => started.get() === shown;
  const show = (answer) => {
    shown = { texts, ...answer };
    if (shown.plan) lastPlan = shown;
    started.set(shown);
  };
  show({ part: "reading the policies", of: 0 });
  try {
    const { job } = await startPlan(inUse, texts);
    while (isCurrent() && !shown.plan && !shown.error) {
      const answer = await askPlan(job, WAIT_SECONDS);
      if (isCurrent()) show(answer);
    }
  } catch (error) {
    if (isCurrent()) show({ error: error.message });
  }
}

/** Returns how a plan can change a node, in words. */
export function listNodeChanges() {
  return ["newly and no longer chosen", "newly chosen", "no longer chosen", "no change"];
}

/** Returns the index in `listNodeChanges` of { gained, lost }, which is undefined for no change. */
export function findNodeChange(change) {
  if (change === undefined) return 3;
  if (change.gained > 0) return change.lost > 0 ? 0 : 1;
  return 2;
}

/** Returns for how many pods a node is chosen by only one side of a plan, in words; "" for none. */
export function describeNodeChange({ gained, lost }) {
  return [
    gained > 0 && `newly chosen for ${formatCount(gained, words.pod)}`,
    lost > 0 && `no longer chosen for ${formatCount(lost, words.pod)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** Returns { gained, lost } of the last plan, summed over nodes. */
export function sumChanges(cluster, nodes) {
  const changes = nodes.map((node) => lastPlan?.nodes[cluster.names[node]]).filter(Boolean);
  const sum = (count) => changes.reduce((total, change) => total + change[count], 0);
  return { gained: sum("gained"), lost: sum("lost") };
}

/** Returns the same as short as a head of the map needs it: `+3 −2 pods`. */
export function shortenNodeChange({ gained, lost }) {
  const parts = [gained > 0 && `+${formatNumber(gained)}`, lost > 0 && `−${formatNumber(lost)}`].filter(Boolean);
  return parts.length > 0 ? `${parts.join(" ")} ${words.pod}s` : "";
}
