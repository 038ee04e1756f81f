// The cluster as a map of tiles, or as a table; with a pod, what each node says about it.

import { html } from "../html.js";
import { useEffect, useMemo, useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { getTextColour } from "../colours.js";
import { formatFreeAmounts, keepFreeNodes, parseFreeAmounts } from "../free_amounts.js";
import { Waiting, makeLazy, useAnswer } from "../loading.js";
import { groupNodes } from "../map_layout.js";
import { describeFillName, hasTaints, listFills, makeLegend } from "../map_looks.js";
import { DARK, NARROW, useMedia } from "../media.js";
import { formatNumber } from "../numbers.js";
import { getLastPlan } from "../plans.js";
import { go, makeAddress, makeNodeAddress, makePodAddress } from "../routes.js";
import { words } from "../words.js";
import { FreeFilter } from "./free_filter.js";
import { NodeMap } from "./node_map.js";

const GroupTable = makeLazy(() => import("./cluster_tables.js"), "GroupTable");
const NodeTable = makeLazy(() => import("./cluster_tables.js"), "NodeTable");
const NodePanel = makeLazy(() => import("./node.js"), "NodePanel");

const FORMS = { map: NodeMap, groups: GroupTable, table: NodeTable };
/** A narrow screen has room for the tiles of so many nodes; with more, it begins with their groups. */
const MOST_ON_NARROW = 300;

export function ClusterView({ options, generation }) {
  const pod = options.get("pod") ?? "";
  const isNarrow = useMedia(NARROW);
  const { answer: cluster, error } = useAnswer(() => ask("cluster"), [generation]);
  const decided = useAnswer(
    () => (pod === "" ? Promise.resolve(null) : ask("explain", { pod })),
    [pod, generation],
  );
  const by = options.get("by") ?? (cluster?.labels[words.zone] ? words.zone : "-");
  const groups = useMemo(() => (cluster ? groupNodes(cluster, by) : []), [cluster, by]);
  if (!cluster) return html`<${Waiting} error=${error} what=${`reading the ${words.node}s`} />`;
  const group = groups.find((each) => each.name === options.get("group"));
  const isCrowded = isNarrow && !group && groups.length > 1 && cluster.names.length > MOST_ON_NARROW;
  const fill = options.get("fill") ?? (cluster.resources.cpu ? "cpu" : "pods");
  const { amounts: free, problem: freeProblem } = parseFreeAmounts(cluster, fill, options.get("free") ?? "");
  const settings = {
    by,
    group: group?.name ?? "",
    fill,
    colour: options.get("colour") ?? (pod === "" ? "share" : "verdict"),
    node: options.get("node") ?? "",
    form: options.get("form") ?? (isCrowded ? "groups" : "map"),
    sort: options.get("sort") ?? "",
    free,
    freeProblem,
    freeText: options.get("free") ?? "",
    isUsable: options.get("usable") === "1",
    pod,
  };
  const about = decided.answer && decided.answer.of.length === cluster.names.length ? decided.answer : null;
  const addressOf = (changed) => makeAddress(["cluster"], { ...Object.fromEntries(options), ...changed });
  const change = (changed) => go(addressOf(changed));
  return html`
    <h1 class="hidden">${words.map}</h1>
    <${Settings} cluster=${cluster} settings=${settings} about=${about} change=${change} />
    ${pod !== "" && decided.answer?.pod !== pod && html`<${Waiting} error=${decided.error} what=${`deciding about the ${words.pod}`} />`}
    ${options.get("group") && !group && html`<p class="warning" role="alert">There is no group ${options.get("group")} by ${by}; these are all ${words.node}s.</p>`}
    <${Picture} cluster=${cluster} groups=${groups} settings=${settings} about=${about} change=${change} addressOf=${addressOf} generation=${generation} />
  `;
}

function Settings({ cluster, settings, about, change }) {
  const fill = describeFillName(cluster, settings.fill);
  const colours = [
    ...(about === null ? [] : [["verdict", `verdict for the ${words.pod}`], ["points", `points of the ${words.pod}`]]),
    ["share", fill],
    ...(getLastPlan() === null ? [] : [["plan", "change by the last plan"]]),
  ];
  return html`<form class="settings" onSubmit=${(event) => event.preventDefault()}>
    <div class="buttons" role="group" aria-label="Form">
      ${[["map", "map"], ["groups", "groups"], ["table", "table"]].map(
        ([form, text]) => html`<button type="button" aria-pressed=${settings.form === form} onClick=${() => change({ form, sort: "" })}>${text}</button>`,
      )}
    </div>
    <${Choice} title="group by" value=${settings.by} change=${(by) => change({ by, group: "" })}
      choices=${[["-", "nothing"], ...Object.keys(cluster.labels).map((key) => [key, key])]} />
    <${Choice} title=${settings.form === "map" ? "bar height" : "columns for"} value=${settings.fill} change=${(name) => change({ fill: name, free: formatFreeAmounts(settings.free) })}
      choices=${listFills(cluster).map((name) => [name, describeFillName(cluster, name)])} />
    ${colours.length > 1 && html`<${Choice} title="colour" value=${settings.colour} change=${(colour) => change({ colour })} choices=${colours} />`}
    ${settings.group && html`<span class="about">
      group <b>${settings.group}</b> <button type="button" onClick=${() => change({ group: "" })}>all groups</button>
    </span>`}
    ${settings.pod && html`<span class="about">
      ${words.pod} <a href=${makePodAddress(settings.pod)}>${settings.pod}</a>${" "}
      ${about?.placedOn && html`is on <a href=${makeNodeAddress(about.placedOn)}>${about.placedOn}</a>; decided now:${" "}`}
      <button type="button" onClick=${() => change({ pod: "", colour: "" })}>clear ${words.pod}</button>
    </span>`}
  </form>`;
}

function Choice({ title, value, choices, change }) {
  return html`<label>
    ${title}${" "}
    <select value=${value} onChange=${(event) => change(event.target.value)}>
      ${choices.map(([key, text]) => html`<option value=${key} selected=${key === value}>${text}</option>`)}
    </select>
  </label>`;
}

function Picture({ cluster, groups, settings, about, change, addressOf, generation }) {
  const [only, setOnly] = useState(null);
  const isDark = useMedia(DARK);
  const { fill, colour, group, form, free, isUsable } = settings;
  const all = useMemo(() => groups.filter(({ name }) => group === "" || name === group), [groups, group]);
  const shown = useMemo(() => keepFreeNodes(cluster, all, free, isUsable), [cluster, all, formatFreeAmounts(free), isUsable]);
  const legend = useMemo(() => {
    const nodes = shown.flatMap(({ members }) => members);
    const changes = getLastPlan()?.nodes ?? null;
    return makeLegend({ cluster, nodes, fill, mode: colour, decided: about, changes, isDark });
  }, [cluster, shown, about, fill, colour, isDark]);
  const kept = legend.entries.some((entry) => entry.key === only) ? only : null;
  useEffect(() => {
    const press = (event) => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.key === "t" && isPlain && !event.target.closest("input, select, textarea")) {
        change({ form: form === "table" ? "map" : "table", sort: "" });
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  const Form = FORMS[form] ?? NodeMap;
  const marked = form === "map" ? shown.flatMap(({ members }) => members) : [];
  const crossed = marked.filter((node) => cluster.state[node] > 0).length;
  const tainted = marked.filter((node) => hasTaints(cluster, node)).length;
  return html`
    <${Legend} legend=${legend} crossed=${crossed} tainted=${tainted} only=${kept} choose=${(key) => setOnly(key === kept ? null : key)} />
    <${FreeFilter} cluster=${cluster} settings=${settings} groups=${shown} all=${all} change=${change} />
    <div class=${settings.node ? "beside" : ""}>
      <${Form} cluster=${cluster} groups=${shown} settings=${settings} legend=${legend} only=${kept} about=${about} change=${change} addressOf=${addressOf} />
      ${settings.node &&
      html`<${Aside} close=${() => change({ node: "" })}>
        <${NodePanel} node=${settings.node} pod=${settings.pod} generation=${generation} />
      <//>`}
    </div>
  `;
}

/** What a press on a tile opens: beside the map, or over the lower half of a narrow screen. */
function Aside({ close, children }) {
  return html`<aside aria-label=${words.node} tabindex="0">
    <button class="close" aria-label=${`Close the ${words.node}`} onClick=${close}>×</button>
    ${children}
  </aside>`;
}

/**
 * @param crossed the number of nodes that are cordoned or not ready
 * @param tainted the number of nodes that have taints and are neither
 */
function Legend({ legend, crossed, tainted, only, choose }) {
  return html`<div class="legend" role="group" aria-label=${`Legend: press an entry to see only these ${words.node}s`}>
    <span>${words.node}s ${legend.title}:</span>
    ${legend.entries.map(
      (entry) => html`<button aria-pressed=${entry.key === only} onClick=${() => choose(entry.key)}>
        <span class="swatch" style=${{ background: entry.colour, color: getTextColour(entry.colour) }}>${entry.letter ?? ""}</span>
        ${entry.text} <b>${formatNumber(entry.count)}</b>
      </button>`,
    )}
    ${crossed > 0 && html`<span class="quiet">diagonal line: cordoned or not ready, ${formatNumber(crossed)}</span>`}
    ${tainted > 0 && html`<span class="quiet">corner: tainted, ${formatNumber(tainted)}</span>`}
  </div>`;
}
