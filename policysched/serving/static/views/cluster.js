// The cluster as a map of tiles, or as a table; with a pod, what each node says about it.

import { html } from "../html.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { ask } from "../api.js";
import { getTextColour } from "../colours.js";
import { Waiting, useAnswer } from "../loading.js";
import { findNodeAt, groupNodes, layOut } from "../map_layout.js";
import { draw, drawFrames } from "../map_canvas.js";
import { describeFill, describeState, listFills, makeLegend, makeLook } from "../map_looks.js";
import { formatNumber } from "../numbers.js";
import { getLastPlan } from "../plans.js";
import { go, makeAddress, makeNodeAddress, makePodAddress } from "../routes.js";
import { NodePanel } from "./node.js";

const ZONE = "topology.kubernetes.io/zone";
const MOST_ROWS = 500;
const LEAST_HEIGHT = 260;
/** Pixels for the line below the map. */
const BELOW = 60;

export function ClusterView({ options, generation }) {
  const pod = options.get("pod") ?? "";
  const { answer: cluster, error } = useAnswer(() => ask("cluster"), [generation]);
  const decided = useAnswer(
    () => (pod === "" ? Promise.resolve(null) : ask("explain", { pod })),
    [pod, generation],
  );
  if (!cluster) return html`<${Waiting} error=${error} what="reading the nodes" />`;
  const settings = {
    by: options.get("by") ?? (cluster.labels[ZONE] ? ZONE : "-"),
    fill: options.get("fill") ?? (cluster.resources.cpu ? "cpu" : "pods"),
    colour: options.get("colour") ?? (pod === "" ? "share" : "verdict"),
    node: options.get("node") ?? "",
    form: options.get("form") ?? "map",
    pod,
  };
  const change = (changed) => go(makeAddress(["cluster"], { ...settings, ...changed }));
  const about = decided.answer && decided.answer.of.length === cluster.names.length ? decided.answer : null;
  return html`
    <h1 class="hidden">Cluster</h1>
    <${Settings} cluster=${cluster} settings=${settings} about=${about} change=${change} />
    ${pod !== "" && decided.answer?.pod !== pod && html`<${Waiting} error=${decided.error} what="deciding about the pod" />`}
    <${Picture} cluster=${cluster} settings=${settings} about=${about} change=${change} generation=${generation} />
  `;
}

function Settings({ cluster, settings, about, change }) {
  const colours = [
    ...(about === null ? [] : [["verdict", "verdict for the pod"], ["points", "points of the pod"]]),
    ["share", "share of the fill"],
    ...(getLastPlan() === null ? [] : [["plan", "change by the last plan"]]),
  ];
  return html`<form class="settings" onSubmit=${(event) => event.preventDefault()}>
    <${Choice} title="group by" value=${settings.by} change=${(by) => change({ by })}
      choices=${[["-", "nothing"], ...Object.keys(cluster.labels).map((key) => [key, key])]} />
    <${Choice} title="fill" value=${settings.fill} change=${(fill) => change({ fill })}
      choices=${listFills(cluster).map((name) => [name, cluster.metrics[name] ? `${name} (metric)` : `${name} requested`])} />
    <${Choice} title="colour" value=${settings.colour} change=${(colour) => change({ colour })} choices=${colours} />
    <button type="button" onClick=${() => change({ form: settings.form === "map" ? "table" : "map" })}>
      ${settings.form === "map" ? "table" : "map"} <kbd>t</kbd>
    </button>
    ${settings.pod &&
    html`<span class="about">
      pod <a href=${makePodAddress(settings.pod)}>${settings.pod}</a>${" "}
      <button type="button" onClick=${() => change({ pod: "", colour: "share" })}>without the pod</button>
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

function Picture({ cluster, settings, about, change, generation }) {
  const [only, setOnly] = useState(null);
  const legend = useMemo(
    () => makeLegend(cluster, settings.fill, about, settings.colour, getLastPlan()?.plan ?? null),
    [cluster, about, settings.fill, settings.colour],
  );
  const kept = legend.entries.some((entry) => entry.key === only) ? only : null;
  useEffect(() => {
    const press = (event) => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.key === "t" && isPlain && !event.target.closest("input, select, textarea")) {
        change({ form: settings.form === "map" ? "table" : "map" });
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  const Form = settings.form === "map" ? NodeMap : NodeTable;
  return html`
    <${Legend} entries=${legend.entries} only=${kept} choose=${(key) => setOnly(key === kept ? null : key)} />
    <div class=${settings.node ? "beside" : ""}>
      <${Form} cluster=${cluster} settings=${settings} legend=${legend} only=${kept} about=${about} change=${change} />
      ${settings.node &&
      html`<${Aside} node=${settings.node} close=${() => change({ node: "" })}>
        <${NodePanel} node=${settings.node} pod=${settings.pod} generation=${generation} />
      <//>`}
    </div>
  `;
}

/** What a press on a tile opens: beside the map, or below it on a narrow screen. */
function Aside({ node, close, children }) {
  const panel = useRef(null);
  useEffect(() => {
    const isBelow = panel.current.getBoundingClientRect().top > window.innerHeight - BELOW;
    if (isBelow) panel.current.scrollIntoView();
  }, [node]);
  return html`<aside aria-label="Node" ref=${panel}>
    <button class="close" aria-label="Close the node" onClick=${close}>×</button>
    ${children}
  </aside>`;
}

function Legend({ entries, only, choose }) {
  return html`<div class="legend" role="group" aria-label="Legend: press an entry to see only these nodes">
    ${entries.map(
      (entry) => html`<button aria-pressed=${entry.key === only} onClick=${() => choose(entry.key)}>
        <span class="swatch" style=${{ background: entry.colour, color: getTextColour(entry.colour) }}>${entry.letter ?? ""}</span>
        ${entry.text} <b>${formatNumber(entry.count)}</b>
      </button>`,
    )}
    <span class="quiet">a stroke: cordoned or not ready</span>
  </div>`;
}

// --- the map -----------------------------------------------------------------------------------

function NodeMap({ cluster, settings, legend, only, about, change }) {
  const canvas = useRef(null);
  const frames = useRef(null);
  const [size, setSize] = useState(null);
  const [pointed, setPointed] = useState(-1);
  const groups = useMemo(() => groupNodes(cluster, settings.by), [cluster, settings.by]);
  const map = useMemo(
    () => (size ? layOut(groups, size.width, size.height) : null),
    [groups, size],
  );
  const look = useMemo(
    () => makeLook(cluster, settings.fill, legend, only),
    [cluster, settings.fill, legend, only],
  );
  const selected = cluster.names.indexOf(settings.node);
  useLayoutEffect(() => {
    const measure = () => {
      const next = measureRoom(canvas.current);
      setSize((before) => (before?.width === next.width && before.height === next.height ? before : next));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(canvas.current.parentElement);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (map === null) return;
    draw(canvas.current, map, cluster, look);
  }, [map, cluster, look]);
  useLayoutEffect(() => {
    if (map !== null) drawFrames(frames.current, map, [selected, pointed].filter((node) => node >= 0));
  }, [map, selected, pointed]);

  const findNode = (event) => {
    const box = canvas.current.getBoundingClientRect();
    return map === null ? -1 : findNodeAt(map, event.clientX - box.left, event.clientY - box.top);
  };
  const press = (event) => {
    const next = map && findNextNode(map, pointed < 0 ? selected : pointed, event.key);
    if (next !== null && next !== undefined) {
      event.preventDefault();
      setPointed(next);
    } else if (event.key === "Enter" && pointed >= 0) change({ node: cluster.names[pointed] });
    else if (event.key === "Escape") change({ node: "" });
  };
  const told = pointed >= 0 ? describeNode(cluster, settings.fill, about, pointed) : "";
  return html`<div class="map">
    <canvas
      ref=${canvas}
      tabindex="0"
      role="application"
      aria-label=${`Map of ${cluster.names.length} nodes. Arrow keys move, Enter opens a node. ${told}`}
      onMouseMove=${(event) => setPointed(findNode(event))}
      onMouseLeave=${() => setPointed(-1)}
      onClick=${(event) => findNode(event) >= 0 && change({ node: cluster.names[findNode(event)] })}
      onKeyDown=${press}
    ></canvas>
    <canvas class="frames" ref=${frames} aria-hidden="true"></canvas>
    <p class="told" aria-live="polite">${told || "point at a tile, or press the arrow keys"}</p>
  </div>`;
}

/** Returns the width of the map, and the height that fits on the screen. */
function measureRoom(canvas) {
  const top = canvas.getBoundingClientRect().top + window.scrollY;
  const height = Math.max(LEAST_HEIGHT, Math.floor(window.innerHeight - top - BELOW));
  return { width: canvas.parentElement.clientWidth, height };
}

/** Returns the node that a key leads to from a node; undefined for other keys. */
function findNextNode(map, node, key) {
  const all = map.groups.flatMap((group) => group.members);
  const group = map.groups.find((each) => each.members.includes(node));
  if (group === undefined) return /^Arrow|Home/.test(key) ? all[0] : undefined;
  const at = group.members.indexOf(node);
  switch (key) {
    case "Home":
      return group.members[0];
    case "End":
      return group.members[group.members.length - 1];
    case "ArrowUp":
      return group.members[at - group.perRow] ?? node;
    case "ArrowDown":
      return group.members[at + group.perRow] ?? node;
    case "ArrowLeft":
      return all[Math.max(0, all.indexOf(node) - 1)];
    case "ArrowRight":
      return all[Math.min(all.length - 1, all.indexOf(node) + 1)];
    default:
      return undefined;
  }
}

function describeNode(cluster, fill, about, node) {
  const parts = [cluster.names[node], describeState(cluster.state[node]), describeFill(cluster, fill, node)];
  if (about !== null) parts.push(describeVerdict(about, node));
  return parts.filter(Boolean).join(" · ");
}

function describeVerdict(about, node) {
  const why = about.why[about.of[node]];
  if (why) return `rejected by ${why.by || "PreFilter"}: ${why.reason}`;
  return about.totals[node] === null ? "fits" : `fits, ${formatNumber(about.totals[node])} points`;
}

// --- the table ---------------------------------------------------------------------------------

function NodeTable({ cluster, settings, legend, only, about }) {
  const rows = cluster.names.map((_, node) => node).filter((node) => only === null || legend.keyOf(node) === only);
  const group = cluster.labels[settings.by];
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Nodes">
    <table class="nodes">
      <thead>
        <tr>
          <th scope="col">node</th>
          ${group && html`<th scope="col">${settings.by}</th>`}
          <th scope="col">state</th>
          <th scope="col">${settings.fill}</th>
          ${about && html`<th scope="col">${about.pod}</th>`}
        </tr>
      </thead>
      <tbody>
        ${rows.slice(0, MOST_ROWS).map(
          (node) => html`<tr>
            <th scope="row"><a href=${makeNodeAddress(cluster.names[node])}>${cluster.names[node]}</a></th>
            ${group && html`<td>${group.values[group.of[node]] ?? ""}</td>`}
            <td>${describeState(cluster.state[node])}</td>
            <td>${describeFill(cluster, settings.fill, node)}</td>
            ${about && html`<td>${describeVerdict(about, node)}</td>`}
          </tr>`,
        )}
      </tbody>
    </table>
    ${rows.length > MOST_ROWS &&
    html`<p class="quiet">${formatNumber(rows.length - MOST_ROWS)} more nodes: choose an entry of the legend, or find a node by name</p>`}
  </div>`;
}
