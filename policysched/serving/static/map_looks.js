// What the colour and the height of a tile mean, and the legend that says so.

import { CATEGORY_COUNT, FITS, OTHER, PASSES, STEP_COUNT, findStep, getCategoryColour, getStepColour } from "./colours.js";
import { formatAmount, formatNumber, formatShare } from "./numbers.js";
import { findNodeChange, listNodeChanges } from "./plans.js";
import { describeShare } from "./targets.js";
import { words } from "./words.js";

const NOT_READY = 2;

/** Returns the names of what a tile can show: pods, resources, metrics. */
export function listFills(cluster) {
  return ["pods", ...Object.keys(cluster.resources), ...Object.keys(cluster.metrics)];
}

/** Returns the requested and allocatable amounts { used, of } of all nodes; undefined for a metric. */
export function getAmounts(cluster, fill) {
  return fill === "pods" ? cluster.pods : cluster.resources[fill];
}

/** Returns a function from a node to the height of its bar, 0 to 1; null if it is unknown. */
export function makeShareOf(cluster, fill) {
  const metric = cluster.metrics[fill];
  if (metric) return (node) => metric[node];
  const amounts = getAmounts(cluster, fill);
  if (amounts === undefined) return () => null;
  const { used, of } = amounts;
  return (node) => (of[node] > 0 ? used[node] / of[node] : null);
}

/**
 * Returns the legend of a map: a title, entries { key, colour, text, letter, count }, `keyOf` a
 * node, and whether the colour says the same as the height of the bar.
 *
 * @param nodes the nodes that are shown and counted
 * @param mode "share", "verdict", "points" or "plan"
 * @param decided the answer of `explain`, or null; its arrays have the order of `cluster.names`
 * @param changes what the last plan changes on each node, by name, or null
 */
export function makeLegend({ cluster, nodes, fill, mode, decided, changes, isDark }) {
  const count = (entries, keyOf) => countEntries(entries, keyOf, nodes);
  if (mode === "plan" && changes !== null) return { title: "by the last plan", ...count(...listPlanEntries(cluster, changes)) };
  if (decided !== null && mode === "verdict") return { title: `for ${decided.pod}`, ...count(...listVerdictEntries(decided)) };
  if (decided !== null && mode === "points") return { title: `by points of ${decided.pod}`, ...count(...listPointsEntries(decided, isDark)) };
  return { title: `by ${describeFillName(cluster, fill)}`, ...count(...listShareEntries(cluster, fill, isDark)), isOfFill: true };
}

/** Returns what the height of a bar is: `cpu requested`, `cpu allocated` of a member cluster, or the name of a metric. */
export function describeFillName(cluster, fill) {
  return cluster.metrics[fill] ? `${fill} (metric)` : `${fill} ${words.requested}`;
}

function listShareEntries(cluster, fill, isDark) {
  const shareOf = makeShareOf(cluster, fill);
  const keyOf = (node) => {
    const share = shareOf(node);
    return share === null ? "unknown" : `${findStep(share)}`;
  };
  const entries = [];
  for (let step = 0; step < STEP_COUNT; step += 1) {
    const [from, to] = [(100 * step) / STEP_COUNT, (100 * (step + 1)) / STEP_COUNT];
    entries.push({ key: `${step}`, colour: getStepColour(step, isDark), text: `${from}–${to} %` });
  }
  entries.push({ key: "unknown", colour: OTHER, text: `no ${fill}` });
  return [entries, keyOf];
}

function listVerdictEntries(decided) {
  const names = [...new Set(decided.why.map((each) => each.by))];
  const counts = new Map(names.map((name) => [name, 0]));
  for (const number of decided.of) {
    if (number >= 0) counts.set(decided.why[number].by, counts.get(decided.why[number].by) + 1);
  }
  names.sort((one, other) => counts.get(other) - counts.get(one));
  const shown = names.slice(0, CATEGORY_COUNT);
  const keys = decided.why.map(({ by }) => (shown.includes(by) ? by : "others"));
  const passed = (node) => (decided.replicasOf?.[node] === null ? "passes" : "fits");
  const keyOf = (node) => (decided.of[node] < 0 ? passed(node) : keys[decided.of[node]]);
  const entries = [
    { key: "fits", colour: FITS, text: words.areBindings ? "gets the binding" : "fits" },
    { key: "passes", colour: PASSES, text: "passes all filters, gets nothing", letter: "–" },
    ...shown.map((name, index) => ({
      key: name,
      colour: getCategoryColour(index),
      text: `rejected by ${name || "PreFilter"}`,
      letter: String.fromCharCode(97 + index),
    })),
    { key: "others", colour: OTHER, text: "rejected by others" },
  ];
  return [entries, keyOf];
}

function listPointsEntries(decided, isDark) {
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
    entries.push({ key: `${step}`, colour: getStepColour(step, isDark), text: `${from}–${to} points` });
  }
  return [entries, keyOf];
}

function listPlanEntries(cluster, changes) {
  const keyOf = (node) => `${findNodeChange(changes[cluster.names[node]])}`;
  const colours = [getCategoryColour(2), FITS, getCategoryColour(1), OTHER];
  const letters = ["±", "+", "−", ""];
  const entries = listNodeChanges().map((text, index) => ({
    key: `${index}`,
    colour: colours[index],
    text,
    letter: letters[index],
  }));
  return [entries, keyOf];
}

function countEntries(entries, keyOf, nodes) {
  const keys = new Map(nodes.map((node) => [node, keyOf(node)]));
  const counts = new Map();
  for (const key of keys.values()) counts.set(key, (counts.get(key) ?? 0) + 1);
  const used = entries.filter((entry) => counts.has(entry.key));
  return {
    entries: used.map((entry) => ({ ...entry, count: counts.get(entry.key) })),
    keyOf: (node) => keys.get(node),
  };
}

/** Returns functions of a node that say how its tile looks; see `map_canvas.draw`. */
export function makeLook(cluster, fill, legend, dimmedBut) {
  const entries = legend.entries.map((entry) => [
    entry.key,
    { ...entry, isDimmed: dimmedBut !== null && dimmedBut !== entry.key },
  ]);
  const byKey = new Map(entries);
  return {
    entryOf: (node) => byKey.get(legend.keyOf(node)),
    shareOf: makeShareOf(cluster, fill),
    isTinted: !legend.isOfFill,
    isCrossed: (node) => cluster.state[node] > 0,
    hasTaints: (node) => hasTaints(cluster, node),
    describe: (node) => describeFill(cluster, fill, node),
  };
}

/** Returns the amount or the value that the bar of a node shows, in words. */
export function describeFill(cluster, fill, node) {
  const amounts = getAmounts(cluster, fill);
  if (amounts !== undefined) {
    const [used, of] = [amounts.used[node], amounts.of[node]];
    return `${fill} ${formatAmount(fill, used, of)} of ${formatAmount(fill, of)} (${formatShare(used, of)}), ${formatAmount(fill, of - used, of)} free`;
  }
  const value = makeShareOf(cluster, fill)(node);
  return value === null ? `no ${fill}` : `${fill} ${formatNumber(value)}`;
}

/** Returns what keeps pods away from a node, in words; "" for an ordinary node. */
export function describeState(cluster, node) {
  if (cluster.state[node] === NOT_READY) return "not ready";
  if (cluster.state[node] > 0) return "cordoned";
  return hasTaints(cluster, node) ? `tainted ${findTaints(cluster, node)}` : "";
}

/** Returns whether a node that is neither cordoned nor not ready has taints. */
export function hasTaints(cluster, node) {
  return cluster.state[node] === 0 && Boolean(findTaints(cluster, node));
}

/** An older scheduler sends no taints. */
function findTaints(cluster, node) {
  return cluster.taints?.values[cluster.taints.of[node]];
}

/** Returns the verdict of a node about the pod of an answer of `explain`. */
export function describeVerdict(decided, node) {
  const why = decided.why[decided.of[node]];
  if (why) return `rejected by ${why.by || "PreFilter"}: ${why.reason}`;
  if (decided.replicasOf) return describeShare(decided.replicasOf[node]);
  return decided.totals[node] === null ? "fits" : `fits, ${formatNumber(decided.totals[node])} points`;
}
