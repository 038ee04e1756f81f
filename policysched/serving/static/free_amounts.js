// The amounts that a node must have free to be shown: `cpu:4,memory:8Gi` in an address.

import { getAmounts } from "./map_looks.js";
import { findUnit } from "./numbers.js";

const QUANTITY = /^(\d+|\d*\.\d+)([mkMGTP]|[KMGTP]i)?$/;
const SUFFIXES = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };
/** What a resource is counted in: its suffixes and examples. */
const CPU = { suffixes: ["m"], examples: "2 or 500m" };
const BYTES = { suffixes: Object.keys(SUFFIXES).filter((suffix) => suffix !== "m"), examples: "4Gi or 500Mi" };
const COUNT = { suffixes: ["k"], examples: "2" };

/**
 * Returns { amounts, problem } of a text such as `cpu 4, memory 8Gi`. With a problem, which says what
 * is wrong with the text, there are no amounts.
 *
 * @param fill the resource of a quantity without a name
 * @returns amounts [{ resource, quantity, least }, …]: `least` has the unit of the columns
 */
export function parseFreeAmounts(cluster, fill, text) {
  const amounts = [];
  for (const part of text.split(",").map((each) => each.trim()).filter(Boolean)) {
    const words = part.split(/\s*[\s:=]\s*/);
    const [resource, quantity] = words.length === 1 ? [fill, part] : words;
    const problem = words.length > 2 ? `“${part}” is not a resource and a quantity` : findProblem(cluster, resource, quantity);
    if (problem) return { amounts: [], problem };
    amounts.push({ resource, quantity, least: parseQuantity(resource, quantity) });
  }
  return { amounts, problem: "" };
}

function findProblem(cluster, resource, quantity) {
  if (getAmounts(cluster, resource) === undefined) {
    return `no node has ${resource}; write one of ${["pods", ...Object.keys(cluster.resources)].join(", ")} and a quantity`;
  }
  const { suffixes, examples } = getKind(resource);
  const [, number, suffix] = QUANTITY.exec(quantity) ?? [];
  const isQuantity = number !== undefined && (suffix === undefined || suffixes.includes(suffix));
  return isQuantity ? "" : `“${quantity}” is not a quantity of ${resource}, such as ${examples}`;
}

function getKind(resource) {
  if (resource === "cpu") return CPU;
  return findUnit(resource, 1024)[1] === "" ? COUNT : BYTES;
}

function parseQuantity(resource, quantity) {
  const [, number, suffix] = QUANTITY.exec(quantity);
  return Math.round(Number(number) * (SUFFIXES[suffix] ?? 1) * findUnit(resource, 1)[0]);
}

/** Returns amounts as they are in an address. */
export function formatFreeAmounts(amounts) {
  return amounts.map(({ resource, quantity }) => `${resource}:${quantity}`).join(",");
}

/** Returns groups with only the nodes that have all the amounts free. */
export function keepFreeNodes(cluster, groups, amounts) {
  if (amounts.length === 0) return groups;
  const hasEnough = (node) =>
    amounts.every(({ resource, least }) => {
      const { used, of } = getAmounts(cluster, resource);
      return of[node] - used[node] >= least;
    });
  return groups.map((group) => ({ ...group, members: group.members.filter(hasEnough) }));
}
