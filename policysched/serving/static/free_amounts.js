// The amounts that a node must have free to be shown: `cpu:4,memory:8Gi` in an address.

import { describeState, getAmounts } from "./map_looks.js";
import { findUnit } from "./numbers.js";

const QUANTITY = /^(\d+|\d*\.\d+)([mkMGTP]|[KMGTP]i)?$/;
const SUFFIXES = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };
/** What a resource is counted in: its suffixes and examples. */
const CPU = { suffixes: ["m"], examples: "2 or 500m" };
const BYTES = { suffixes: Object.keys(SUFFIXES).filter((suffix) => suffix !== "m"), examples: "4Gi or 500Mi" };
const COUNT = { suffixes: ["k"], examples: "2" };

/**
 * Returns { amounts, problem } of a text such as `cpu 4, memory 8Gi`, `4 CPU 8Gi` or `cpu=4`. With a
 * problem, which says what is wrong with the text, there are no amounts.
 *
 * @param fill the resource of a quantity without a name, unless it can only be an amount of memory
 * @returns amounts [{ resource, quantity, least }, …]: `least` has the unit of the columns
 */
export function parseFreeAmounts(cluster, fill, text) {
  const amounts = [];
  for (const [resource, quantity] of text.split(",").flatMap((part) => pairWords(cluster, fill, part))) {
    const isRepeated = amounts.some((each) => each.resource === resource);
    const problem = isRepeated ? `“${text}” has two quantities of ${resource}` : findProblem(cluster, resource, quantity);
    if (problem) return { amounts: [], problem };
    amounts.push({ resource, quantity, least: parseQuantity(resource, quantity) });
  }
  return { amounts, problem: "" };
}

/** Returns [[resource, quantity], …] of words, in which a resource is before or after its quantity. */
function pairWords(cluster, fill, part) {
  const rest = part.split(/[\s:=]+/).filter(Boolean);
  const pairs = [];
  while (rest.length > 0) {
    const word = rest.shift();
    const resource = findResource(cluster, word);
    const next = rest.length > 0 ? findResource(cluster, rest[0]) : undefined;
    if (resource !== undefined) pairs.push([resource, rest.shift() ?? ""]);
    else if (!QUANTITY.test(word) && rest.length > 0) pairs.push([word, rest.shift()]);
    else if (next !== undefined && findProblem(cluster, next, word) === "") pairs.push([findResource(cluster, rest.shift()), word]);
    else pairs.push([chooseResource(fill, word), word]);
  }
  return pairs;
}

/** Returns the resource that a word names in any case; undefined for none. */
function findResource(cluster, word) {
  return ["pods", ...Object.keys(cluster.resources)].find((name) => name.toLowerCase() === word.toLowerCase());
}

function chooseResource(fill, quantity) {
  const isOfBytes = /[KMGTP]i$/.test(quantity) && getKind(fill) !== BYTES;
  return isOfBytes ? "memory" : fill;
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

/**
 * Returns groups with only the nodes that have all the amounts free.
 *
 * @param isUsable whether nodes that are cordoned, not ready or tainted are left out as well
 */
export function keepFreeNodes(cluster, groups, amounts, isUsable) {
  if (amounts.length === 0 && !isUsable) return groups;
  const isKept = (node) =>
    !(isUsable && describeState(cluster, node)) &&
    amounts.every(({ resource, least }) => {
      const { used, of } = getAmounts(cluster, resource);
      return of[node] - used[node] >= least;
    });
  return groups.map((group) => ({ ...group, members: group.members.filter(isKept) }));
}

/** Returns how many nodes are cordoned, not ready or tainted. */
export function countClosed(cluster, nodes) {
  return nodes.filter((node) => describeState(cluster, node) !== "").length;
}
