// What the map shows as tables: one row for each node, or one for each group of nodes.

import { html } from "../html.js";
import { describeState, describeVerdict, getAmounts, makeShareOf } from "../map_looks.js";
import { findUnit, formatAmount, formatCount, formatNumber, formatShare } from "../numbers.js";
import { describeNodeChange, getLastPlan } from "../plans.js";
import { makeNodeAddress } from "../routes.js";
import { words } from "../words.js";
import { SortedTable } from "./sorted_table.js";

const MOST_ROWS = 500;
const NO_CHANGE = { gained: 0, lost: 0 };
const QUANTITY = /^(\d+|\d*\.\d+)([mkMGTP]|[KMGTP]i)?$/;
const SUFFIXES = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };

export function NodeTable({ cluster, groups, settings, legend, only, about, change }) {
  const known = groups.flatMap(({ members }) => members).filter((node) => only === null || legend.keyOf(node) === only);
  const amounts = getAmounts(cluster, settings.fill);
  const least = amounts && settings.free ? parseQuantity(settings.fill, settings.free) : 0;
  const nodes = least ? known.filter((node) => amounts.of[node] - amounts.used[node] >= least) : known;
  const columns = [
    { key: "node", title: words.node, show: (node) => html`<a href=${makeNodeAddress(cluster.names[node])}>${cluster.names[node]}</a>`, rank: (node) => cluster.names[node] },
    ...listGroupColumns(cluster, settings.by),
    { key: "state", title: "state", show: (node) => describeState(cluster.state[node]), rank: (node) => -cluster.state[node] },
    ...listAmountColumns(cluster, settings.fill),
    ...(settings.colour === "plan" ? listPlanColumns(cluster) : []),
    ...(about ? listVerdictColumns(about) : []),
  ];
  return html`
    ${amounts && html`<${LeastFree} settings=${settings} least=${least} count=${nodes.length} of=${known.length} change=${change} />`}
    <${SortedTable} label=${`${words.node}s`} className="nodes" columns=${columns} rows=${nodes} most=${MOST_ROWS} sort=${settings.sort} setSort=${(sort) => change({ form: "table", sort })} />
    ${nodes.length > MOST_ROWS &&
    html`<p class="quiet">${formatCount(nodes.length - MOST_ROWS, `more ${words.node}`)}: sort by another column, choose an entry of the legend, or find a ${words.node} by name</p>`}
  `;
}

/**
 * Lets the reader choose how much of the resource a node must have free.
 *
 * @param least the amount, 0 for none, null if the text is no quantity
 */
function LeastFree({ settings, least, count, of, change }) {
  const { fill, free } = settings;
  const choose = (event) => {
    event.preventDefault();
    change({ form: "table", free: new FormData(event.target).get("free").trim() });
  };
  return html`<form class="settings" onSubmit=${choose}>
    <label>at least <input name="free" size="6" value=${free} autocomplete="off" spellcheck=${false} /> ${fill} free</label>
    <button>filter</button>
    ${free && html`<button type="button" onClick=${() => change({ form: "table", free: "" })}>all ${words.node}s</button>`}
    ${free && least === null && html`<span class="warning" role="alert">“${free}” is not a quantity, such as ${fill === "memory" ? "4Gi" : "2"} or 0.5</span>`}
    ${free && least !== null && html`<span class="quiet">${formatNumber(count)} of ${formatCount(of, words.node)}</span>`}
  </form>`;
}

/** Returns a quantity such as `500m` or `4Gi` in the unit of the columns, null for other texts. */
function parseQuantity(resource, text) {
  const [, number, suffix] = QUANTITY.exec(text) ?? [];
  if (number === undefined) return null;
  return Math.round(Number(number) * (SUFFIXES[suffix] ?? 1) * findUnit(resource, 1)[0]);
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
    makeColumn("free", "free", (node) => of[node] - used[node]),
    makeColumn("requested", `${fill} ${words.requested}`, (node) => used[node]),
    makeColumn("allocatable", "allocatable", (node) => of[node]),
    { key: "share", title: "share", show: (node) => formatShare(used[node], of[node]), rank: shareOf, isNumber: true },
  ];
}

function listPlanColumns(cluster) {
  const changeOf = (node) => getLastPlan()?.nodes[cluster.names[node]] ?? NO_CHANGE;
  const rank = (node) => changeOf(node).gained + changeOf(node).lost;
  return [{ key: "change", title: "change by the last plan", show: (node) => describeNodeChange(changeOf(node)), rank }];
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
  const countClosed = ({ members }) => members.filter((node) => cluster.state[node] > 0).length;
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
    ...listSumColumns(cluster, settings.fill),
    ...(rows.some(countClosed) ? [count("closed", "cordoned, not ready", countClosed)] : []),
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
  const sum = (all, { members }) => members.reduce((total, node) => total + all[node], 0);
  const [used, of] = [(group) => sum(amounts.used, group), (group) => sum(amounts.of, group)];
  const free = (group) => of(group) - used(group);
  return [
    { key: "share", title: `${fill} ${words.requested}`, show: (group) => formatShare(used(group), of(group)), rank: (group) => used(group) / of(group) || 0, isNumber: true },
    { key: "free", title: "free", show: (group) => formatAmount(fill, free(group), of(group)), rank: free, isNumber: true },
  ];
}

function computeMean(values) {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
