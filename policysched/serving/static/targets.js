// Clusters with replicas: { name, replicas } of a binding now, or after a decision.

import { formatCount, formatNumber } from "./numbers.js";

const MOST_CHOSEN = 5;
/** Karmada's number for "nothing limits the replicas". */
export const NO_LIMIT = 2 ** 31 - 1;

/** Returns `member1:2, member2:5`; a resource without replicas has only names. */
export function formatTargets(targets) {
  return targets.map(({ name, replicas }) => (replicas ? `${name}:${formatNumber(replicas)}` : name)).join(", ") || "none";
}

/** Returns [{ name, now, next }] of all clusters that a binding has or gets; null for none. */
export function compareTargets(present, shares) {
  const find = (targets, name) => targets.find((each) => each.name === name)?.replicas ?? null;
  const names = [...new Set([...present, ...shares].map((each) => each.name))].sort();
  return names.map((name) => ({ name, now: find(present, name), next: find(shares, name) }));
}

/** Returns what a cluster that passes the filters gets of a binding, in words; null for nothing. */
export function describeShare(replicas) {
  return replicas === null ? "passes all filters, gets nothing" : `gets ${describeReplicas(replicas)}`;
}

/** Returns the same of an answer of `compare`, with the reason for nothing and with the present. */
export function describeComparison({ replicas, isSelected, present }) {
  const why = isSelected ? "it is chosen, but gets no replica" : "other clusters are chosen";
  const next = `${describeShare(replicas)}${replicas === null ? `: ${why}` : ""}`;
  return present === null ? next : `${next}; it has ${describeReplicas(present)} now`;
}

/** Returns the points and the capacity of a cluster that passes and is not chosen, beside the chosen ones. */
export function describeChoice({ points, room, isSelected }, { ranking, selection }) {
  if (isSelected || !points || !selection) return "";
  const chosen = ranking.filter(({ node }) => selection.clusters.includes(node)).slice(0, MOST_CHOSEN);
  const others = selection.clusters.length - chosen.length;
  const texts = chosen.map((each) => `${each.node} (${describeStrength(each.total, each.room)})`);
  return `it has ${describeStrength(points.total, room)}; chosen are ${texts.join(", ")}${others > 0 ? ` and ${formatNumber(others)} more` : ""}: ${selection.how}`;
}

function describeStrength(total, room) {
  return `${formatCount(total, "point")}${room === NO_LIMIT ? "" : `, capacity for ${formatCount(room, "replica")}`}`;
}

/** A resource without replicas, such as a ConfigMap, is on a cluster with 0 of them. */
function describeReplicas(count) {
  return count === 0 ? "the resource" : formatCount(count, "replica");
}
