// A table whose rows are sorted by a press on the head of a column.

import { html } from "../html.js";
import { breakName } from "./links.js";
import { TableRegion } from "./tables.js";

const COLLATOR = new Intl.Collator("en", { numeric: true });

/**
 * A region that scrolls, with a table of the first `most` rows.
 *
 * @param columns [{ key, title, show, rank, isNumber }, …]: `show` gives the content of a row's
 *   cell, `rank` the number or text by which rows are sorted, null for none
 * @param sort the key of a column, with a "-" before it for the largest first; "" for the order of `rows`
 */
export function SortedTable({ label, className, columns, rows, sort, setSort, most = Infinity }) {
  const sorted = sortRows(columns, rows, sort);
  return html`<${TableRegion} label=${label}>
    <table class=${className}>
      <thead><tr>${columns.map((column) => html`<${Head} column=${column} sort=${sort} setSort=${setSort} />`)}</tr></thead>
      <tbody>
        ${sorted.slice(0, most).map(
          (row) => html`<tr>${columns.map(({ show, isNumber }, index) => (index === 0 ? html`<th scope="row">${show(row)}</th>` : html`<td class=${isNumber ? "number" : ""}>${show(row)}</td>`))}</tr>`,
        )}
      </tbody>
    </table>
  <//>`;
}

function Head({ column, sort, setSort }) {
  const { key, title, isNumber } = column;
  const order = { [key]: "ascending", [`-${key}`]: "descending" }[sort];
  const first = isNumber ? `-${key}` : key; // the largest numbers are of interest
  const other = isNumber ? key : `-${key}`;
  return html`<th scope="col" class=${isNumber ? "number" : ""} aria-sort=${order}>
    <button class="sort" onClick=${() => setSort(sort === first ? other : first)}>${breakName(title)}${" "}
      <span aria-hidden="true">${{ ascending: "▲", descending: "▼" }[order] ?? "↕"}</span></button>
  </th>`;
}

function sortRows(columns, rows, sort) {
  const column = columns.find(({ key }) => sort === key || sort === `-${key}`);
  if (column === undefined) return rows;
  const sign = sort === column.key ? 1 : -1;
  const ranked = rows.map((row) => [column.rank(row), row]);
  ranked.sort(([one], [other]) => {
    if (one === null || other === null) return (one === null) - (other === null);
    return sign * (typeof one === "number" ? one - other : COLLATOR.compare(one, other));
  });
  return ranked.map(([, row]) => row);
}
