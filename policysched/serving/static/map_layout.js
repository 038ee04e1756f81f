// Where the tile of each node lies on the map. Pure functions, so that tests can call them.

import { words } from "./words.js";

const SIZES = [
  [240, 150], [200, 110], [170, 80], [150, 54], [112, 44], [84, 36], [60, 30], [44, 28], [32, 24], [24, 24],
  [18, 16], [14, 14], [12, 12], [11, 11], [10, 10],
];
/** A map is at most this high, unless its tiles are the smallest: browsers limit the size of a canvas. */
const HIGHEST = 8000;
const HEADER = 26;
/** Longer numbers in names of nodes are compared as texts. */
const MOST_DIGITS = 12;
const GAP = 14;
const NARROWEST_GROUP = 240;
/** Tiles of this width and more use up the width of their group. */
const STRETCHED = 24;

/**
 * Places groups of tiles in `width` pixels, with the largest tiles that need at most `height`.
 * Rather than narrower than `least`, tiles make the map higher.
 *
 * @param groups [{ name, members: [index of a node, …] }, …]
 * @returns { tile: [w, h], height, groups: [{ name, x, y, width, perRow, members }, …] }
 */
export function layOut(groups, width, height, least) {
  let placed = null;
  for (const tile of SIZES) {
    placed = placeGroups(groups, width, tile);
    if (placed.height <= (tile[0] > least ? height : HIGHEST)) break;
  }
  return placed;
}

function placeGroups(groups, width, tile) {
  const columns = Math.max(1, Math.min(groups.length, Math.floor(width / NARROWEST_GROUP)));
  const cell = Math.floor((width - GAP * (columns - 1)) / columns);
  const perRow = Math.max(1, Math.floor(cell / tile[0]));
  if (tile[0] >= STRETCHED) tile = [Math.floor(cell / perRow), tile[1]];
  const placed = [];
  let y = 0;
  for (let first = 0; first < groups.length; first += columns) {
    let highest = 0;
    groups.slice(first, first + columns).forEach((group, column) => {
      placed.push({ ...group, x: column * (cell + GAP), y, width: cell, perRow });
      const rows = Math.ceil(group.members.length / perRow);
      highest = Math.max(highest, HEADER + rows * tile[1]);
    });
    y += highest + GAP;
  }
  return { tile, height: Math.max(0, y - GAP), groups: placed };
}

/** Returns [x, y] of the tile at `position` of a placed group. */
export function getTilePlace(group, position, tile) {
  return [
    group.x + (position % group.perRow) * tile[0],
    group.y + HEADER + Math.floor(position / group.perRow) * tile[1],
  ];
}

/** Returns the index of the node at a place, or -1. */
export function findNodeAt(map, x, y) {
  for (const group of map.groups) {
    const column = Math.floor((x - group.x) / map.tile[0]);
    const row = Math.floor((y - group.y - HEADER) / map.tile[1]);
    if (x < group.x || column >= group.perRow || row < 0) continue;
    const node = group.members[row * group.perRow + column];
    const [, top] = getTilePlace(group, row * group.perRow + column, map.tile);
    if (node !== undefined && y >= top) return node;
  }
  return -1;
}

/**
 * Returns the groups of the nodes by a label; without a label, one group. Groups and nodes are sorted
 * by name, with numbers by their value: `node-3` before `node-12`.
 */
export function groupNodes(cluster, key) {
  const label = cluster.labels[key];
  const nodes = sortByName(cluster.names);
  if (label === undefined) return [{ name: `all ${words.node}s`, members: nodes }];
  const groups = label.values.map((value) => ({ name: `${value || '""'}`, members: [] }));
  const without = { name: `without ${key}`, members: [] };
  for (const node of nodes) (groups[label.of[node]] ?? without).members.push(node);
  groups.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
  return [...groups, without].filter((group) => group.members.length > 0);
}

/** Returns the indices of names in their order; it compares texts, because a collator takes ten times as long. */
function sortByName(names) {
  const keys = names.map((name) => name.replace(/\d+/g, (digits) => digits.padStart(MOST_DIGITS, "0")));
  return names.map((_, index) => index).sort((one, other) => (keys[one] < keys[other] ? -1 : 1));
}
