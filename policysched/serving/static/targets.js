// Clusters with replicas: { name, replicas } of a binding now, or after a decision.

import { formatCount, formatNumber } from "./numbers.js";

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

/** A resource without replicas, such as a ConfigMap, is on a cluster with 0 of them. */
function describeReplicas(count) {
  return count === 0 ? "the resource" : formatCount(count, "replica");
}
