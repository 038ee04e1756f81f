// What the map shows as tables: one row for each node, or one for each group of nodes.

import { html } from "../html.js";
import { countClosed } from "../free_amounts.js";
import { describeState, describeVerdict, getAmounts, makeShareOf } from "../map_looks.js";
import { formatAmount, formatCount, formatNumber, formatShare } from "../numbers.js";
import { describeNodeChange, getLastPlan, sumChanges } from "../plans.js";
import { makeNodeAddress } from "../routes.js";
import { words } from "../words.js";
import { breakName } from "./links.js";
import { SortedTable } from "./sorted_table.js";

const MOST_ROWS = 500;
const NO_CHANGE = { gained: 0, lost: 0 };

export function NodeTable({ cluster, groups, settings, legend, only, about, change }) {
  const nodes = groups.flatMap(({ members }) => members).filter((node) => only === null || legend.keyOf(node) === only);
  const [first, ...amounts] = listAmountColumns(cluster, settings.fill);
  const columns = [
    { key: "node", title: words.node, show: (node) => html`<a href=${makeNodeAddress(cluster.names[node])}>${breakName(cluster.names[node])}</a>`, rank: (node) => cluster.names[node] },
    ...listGroupColumns(cluster, settings.by),
    first,
    ...listOtherFilters(settings).map((resource) => makeFreeColumn(cluster, resource)),
    ...listStateColumns(cluster),
    ...amounts,
    ...(settings.colour === "plan" ? listPlanColumns(cluster) : []),
    ...(about ? listVerdictColumns(about) : []),
  ];
  return html`
    <${SortedTable} label=${`${words.node}s`} className="nodes" columns=${columns} rows=${nodes} most=${MOST_ROWS} sort=${settings.sort} setSort=${(sort) => change({ form: "table", sort })} />
    ${nodes.length > MOST_ROWS &&
    html`<p class="quiet">${formatCount(nodes.length - MOST_ROWS, `more ${words.node}`)}: sort by another column, choose an entry of the legend, or find a ${words.node} by name</p>`}
  `;
}

function listGroupColumns(cluster, by) {
  const label = cluster.labels[by];
  if (label === undefined) return [];
  const valueOf = (node) => label.values[label.of[node]] ?? "";
  return [{ key: "group", title: by, show: valueOf, rank: valueOf }];
}

/** Returns the columns of a resource, or that of a metric. */
function listAmountColumns(cluster, fill) {
  const shareOf = makeShareOf(cluster, fill);
  const amounts = getAmounts(cluster, fill);
  if (amounts === undefined) {
    const show = (node) => (shareOf(node) === null ? "no sample" : formatNumber(shareOf(node)));
    return [{ key: "value", title: fill, show, rank: shareOf, isNumber: true }];
  }
  const { used, of } = amounts;
  const makeColumn = (key, title, rank) => ({ key, title, show: (node) => formatAmount(fill, rank(node), of[node]), rank, isNumber: true });
  return [
    makeFreeColumn(cluster, fill, "free"),
    { key: "share", title: "share", show: (node) => formatShare(used[node], of[node]), rank: shareOf, isNumber: true },
    makeColumn("requested", `${fill} ${words.requested}`, (node) => used[node]),
    makeColumn("allocatable", "allocatable", (node) => of[node]),
  ];
}

/** Returns the column of what keeps pods away; none if nothing does in the whole cluster. */
function listStateColumns(cluster) {
  const stateOf = (node) => describeState(cluster, node);
  if (!cluster.names.some((_, node) => stateOf(node))) return [];
  return [{ key: "state", title: "state", show: (node) => breakName(stateOf(node)), rank: stateOf }];
}

/** Returns the column of the free amount of a resource. */
function makeFreeColumn(cluster, resource, key = `free ${resource}`) {
  const { used, of } = getAmounts(cluster, resource);
  const rank = (node) => of[node] - used[node];
  return { key, title: nameFree(resource), show: (node) => formatAmount(resource, rank(node), of[node]), rank, isNumber: true };
}

/** Returns the title of the free amount; other resources than cpu have their unit beside the number. */
function nameFree(resource) {
  return resource === "cpu" ? "cpu free, cores" : `${resource} free`;
}

/** Returns the resources that nodes must have free, without the one that has columns anyway. */
function listOtherFilters({ fill, free }) {
  return [...new Set(free.map(({ resource }) => resource))].filter((resource) => resource !== fill);
}

function listPlanColumns(cluster) {
  const changeOf = (node) => getLastPlan()?.nodes[cluster.names[node]] ?? NO_CHANGE;
  const rank = (node) => changeOf(node).gained + changeOf(node).lost;
  return [{ key: "change", title: "change by the last plan", show: (node) => describeNodeChange(changeOf(node)), rank }];
}

/** Returns the columns of the pods for which nodes of a group are newly and no longer chosen. */
function listPlanSums(cluster) {
  const makeColumn = (field, sign, title) => {
    const rank = ({ members }) => sumChanges(cluster, members)[field];
    return { key: field, title, show: (group) => (rank(group) ? `${sign}${formatNumber(rank(group))}` : "0"), rank, isNumber: true };
  };
  return [makeColumn("gained", "+", `${words.pod}s gained by the plan`), makeColumn("lost", "−", `${words.pod}s lost`)];
}

/** Sorted, nodes that fit come before those that do not, by their points or by the filter. */
function listVerdictColumns(about) {
  const rank = (node) => {
    const why = about.why[about.of[node]];
    return why ? `2 ${why.by}` : `1 ${1e9 - (about.totals[node] ?? 0)}`;
  };
  return [{ key: "verdict", title: about.pod, show: (node) => describeVerdict(about, node), rank }];
}

/** Counts and sums the nodes of the chosen entry of the legend, or all of them. */
export function GroupTable({ cluster, groups, settings, legend, only, about, change, addressOf }) {
  const isShown = (node) => only === null || legend.keyOf(node) === only;
  const rows = groups.map(({ name, members }) => ({ name, members: members.filter(isShown) }));
  const countClosedOf = ({ members }) => countClosed(cluster, members);
  const fits = (group) => group.members.filter((node) => about.of[node] < 0).length;
  const count = (key, title, rank) => ({ key, title, show: (group) => formatNumber(rank(group)), rank, isNumber: true });
  const columns = [
    {
      key: "group",
      title: settings.by === "-" ? "group" : settings.by,
      show: ({ name }) => html`<a href=${addressOf({ group: settings.by === "-" ? "" : name, form: "map", sort: "" })}>${name}</a>`,
      rank: ({ name }) => name,
    },
    count("nodes", `${words.node}s`, ({ members }) => members.length),
    ...(about ? [count("fits", words.fits, fits), count("rejected", "rejected", (group) => group.members.length - fits(group))] : []),
    ...(settings.colour === "plan" ? listPlanSums(cluster) : []),
    ...listSumColumns(cluster, settings.fill),
    ...listOtherFilters(settings).map((resource) => makeFreeSumColumn(cluster, resource)),
    ...(rows.some(countClosedOf) ? [count("closed", "cordoned, not ready, tainted", countClosedOf)] : []),
  ];
  return html`<${SortedTable} label=${`Groups of ${words.node}s`} className="groups" columns=${columns} rows=${rows} sort=${settings.sort} setSort=${(sort) => change({ form: "groups", sort })} />`;
}

/** Returns the columns of sums of a resource, or that of the mean of a metric. */
function listSumColumns(cluster, fill) {
  const amounts = getAmounts(cluster, fill);
  if (amounts === undefined) {
    const meanOf = ({ members }) => computeMean(members.map(makeShareOf(cluster, fill)).filter((value) => value !== null));
    const show = (group) => (meanOf(group) === null ? "no sample" : formatNumber(meanOf(group)));
    return [{ key: "value", title: `${fill}, mean`, show, rank: meanOf, isNumber: true }];
  }
  const [used, of] = [(group) => sumOver(amounts.used, group), (group) => sumOver(amounts.of, group)];
  return [
    { key: "share", title: `${fill} ${words.requested}`, show: (group) => formatShare(used(group), of(group)), rank: (group) => used(group) / of(group) || 0, isNumber: true },
    makeFreeSumColumn(cluster, fill, "free"),
  ];
}

function makeFreeSumColumn(cluster, resource, key = `free ${resource}`) {
  const { used, of } = getAmounts(cluster, resource);
  const rank = (group) => sumOver(of, group) - sumOver(used, group);
  return { key, title: nameFree(resource), show: (group) => formatAmount(resource, rank(group), sumOver(of, group)), rank, isNumber: true };
}

function sumOver(column, { members }) {
  return members.reduce((total, node) => total + column[node], 0);
}

function computeMean(values) {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
