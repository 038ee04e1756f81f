// What the colour and the height of a tile mean, and the legend that says so.

import { CATEGORY_COUNT, FITS, OTHER, STEP_COUNT, findStep, getCategoryColour, getStepColour } from "./colours.js";
import { formatAmount, formatNumber, formatShare } from "./numbers.js";
import { NODE_CHANGES, describeNodeChanges } from "./plans.js";

const NOT_READY = 2;

/** Returns [{ used, of }] arrays by the name of what a tile can show: resources, pods, metrics. */
export function listFills(cluster) {
  return ["pods", ...Object.keys(cluster.resources), ...Object.keys(cluster.metrics)];
}

/** Returns the share (0 to 1) that a node's tile is filled to; null if it is unknown. */
export function getShare(cluster, fill, node) {
  if (cluster.metrics[fill]) return cluster.metrics[fill][node];
  const amounts = fill === "pods" ? cluster.pods : cluster.resources[fill];
  if (amounts === undefined) return null;
  return amounts.of[node] > 0 ? amounts.used[node] / amounts.of[node] : null;
}

/**
 * Returns the legend of a map: entries { key, colour, text, count }, `keyOf` a node, and whether
 * the colour says the same as the height of a tile.
 *
 * @param decided the answer of `explain`, or null; its arrays have the order of `cluster.names`
 * @param mode "share", "verdict", "points" or "plan"
 * @param plan the last plan, or null
 */
export function makeLegend(cluster, fill, decided, mode, plan) {
  if (mode === "plan" && plan !== null) return makePlanLegend(cluster, plan);
  if (decided === null || mode === "share" || mode === "plan") return makeShareLegend(cluster, fill);
  return mode === "points" ? makePointsLegend(decided) : makeVerdictLegend(decided);
}

function makeShareLegend(cluster, fill) {
  const keyOf = (node) => {
    const share = getShare(cluster, fill, node);
    return share === null ? "unknown" : `${findStep(share)}`;
  };
  const entries = [];
  for (let step = 0; step < STEP_COUNT; step += 1) {
    const [from, to] = [(100 * step) / STEP_COUNT, (100 * (step + 1)) / STEP_COUNT];
    entries.push({ key: `${step}`, colour: getStepColour(step), text: `${from}–${to} %` });
  }
  entries.push({ key: "unknown", colour: OTHER, text: `no ${fill}` });
  return { ...countEntries(entries, keyOf, cluster.names.length), isOfFill: true };
}

function makeVerdictLegend(decided) {
  const names = [...new Set(decided.why.map((each) => each.by))];
  const counts = new Map(names.map((name) => [name, 0]));
  for (const number of decided.of) {
    if (number >= 0) counts.set(decided.why[number].by, counts.get(decided.why[number].by) + 1);
  }
  names.sort((one, other) => counts.get(other) - counts.get(one));
  const shown = names.slice(0, CATEGORY_COUNT);
  const keys = decided.why.map(({ by }) => (shown.includes(by) ? by : "others"));
  const keyOf = (node) => (decided.of[node] < 0 ? "fits" : keys[decided.of[node]]);
  const entries = [
    { key: "fits", colour: FITS, text: "fits" },
    ...shown.map((name, index) => ({
      key: name,
      colour: getCategoryColour(index),
      text: `rejected by ${name || "PreFilter"}`,
      letter: String.fromCharCode(97 + index),
    })),
    { key: "others", colour: OTHER, text: "rejected by others" },
  ];
  return countEntries(entries, keyOf, decided.of.length);
}

function makePointsLegend(decided) {
  const known = decided.totals.filter((total) => total !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const keyOf = (node) => {
    const total = decided.totals[node];
    if (total === null) return "rejected";
    if (most === least) return `${STEP_COUNT - 1}`;
    return `${findStep((total - least) / (most - least))}`;
  };
  const entries = [{ key: "rejected", colour: OTHER, text: "rejected" }];
  for (let step = 0; step < STEP_COUNT; step += 1) {
    const from = Math.round(least + ((most - least) * step) / STEP_COUNT);
    const to = Math.round(least + ((most - least) * (step + 1)) / STEP_COUNT);
    entries.push({ key: `${step}`, colour: getStepColour(step), text: `${from}–${to} points` });
  }
  return countEntries(entries, keyOf, decided.of.length);
}

function makePlanLegend(cluster, plan) {
  const changeOf = describeNodeChanges(plan);
  const keyOf = (node) => `${changeOf(cluster.names[node])}`;
  const colours = [getCategoryColour(2), FITS, getCategoryColour(1), OTHER];
  const letters = ["±", "+", "−", ""];
  const entries = NODE_CHANGES.map((text, index) => ({
    key: `${index}`,
    colour: colours[index],
    text,
    letter: letters[index],
  }));
  return countEntries(entries, keyOf, cluster.names.length);
}

function countEntries(entries, keyOf, nodeCount) {
  const keys = Array.from({ length: nodeCount }, (_, node) => keyOf(node));
  const counts = new Map();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  const used = entries.filter((entry) => counts.has(entry.key));
  return {
    entries: used.map((entry) => ({ ...entry, count: counts.get(entry.key) })),
    keyOf: (node) => keys[node],
  };
}

/** Returns the function that gives the look of a node's tile; see `map_canvas.draw`. */
export function makeLook(cluster, fill, legend, dimmedBut) {
  const byKey = new Map(legend.entries.map((entry) => [entry.key, entry]));
  return (node) => {
    const key = legend.keyOf(node);
    const entry = byKey.get(key);
    return {
      colour: entry.colour,
      letter: entry.letter,
      share: getShare(cluster, fill, node),
      isDimmed: dimmedBut !== null && dimmedBut !== key,
      isTinted: !legend.isOfFill,
      isCrossed: cluster.state[node] > 0,
      describe: () => describeFill(cluster, fill, node),
    };
  };
}

/** Returns the amount or the value that a node's tile is filled to, in words. */
export function describeFill(cluster, fill, node) {
  const amounts = fill === "pods" ? cluster.pods : cluster.resources[fill];
  if (amounts !== undefined) {
    const [used, of] = [amounts.used[node], amounts.of[node]];
    return `${fill} ${formatAmount(fill, used)} of ${formatAmount(fill, of)} (${formatShare(used, of)})`;
  }
  const value = getShare(cluster, fill, node);
  return value === null ? `no ${fill}` : `${fill} ${formatNumber(value)}`;
}

/** Returns what keeps pods away from a node, in words; "" for an ordinary node. */
export function describeState(state) {
  if (state === NOT_READY) return "not ready";
  return state > 0 ? "cordoned" : "";
}
