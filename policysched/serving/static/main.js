// The frame of the page: header, search, views, keys.

import { html } from "./html.js";
import { showText } from "./visible.js";
import { render, useEffect, useRef, useState } from "./vendor/preact.js";
import { ask, isServedByScheduler, takeKeyFromAddress, takeStep } from "./api.js";
import { Guarded, makeLazy } from "./loading.js";
import { go, makeAddress, readRoute } from "./routes.js";
import { chooseWords, words } from "./words.js";
import { useEdits } from "./drafts.js";
import { formatCount, formatNumber, formatTime } from "./numbers.js";
import { Search } from "./views/search.js";
import { ClusterView } from "./views/cluster.js";
import { ProcessBanners, describeProcess } from "./views/process.js";

const PodView = makeLazy(() => import("./views/pod.js"), "PodView");
const NodeView = makeLazy(() => import("./views/node.js"), "NodeView");
const PendingView = makeLazy(() => import("./views/pending.js"), "PendingView");
const DecisionsView = makeLazy(() => import("./views/decisions.js"), "DecisionsView");
const PoliciesView = makeLazy(() => import("./views/policies.js"), "PoliciesView");
const EditView = makeLazy(() => import("./views/edit.js"), "EditView");
const QueueView = makeLazy(() => import("./views/queue.js"), "QueueView");
const ListedPodView = makeLazy(() => import("./views/records.js"), "ListedPodView");
const RecordsView = makeLazy(() => import("./views/records.js"), "RecordsView");
const TokenForm = makeLazy(() => import("./views/token.js"), "TokenForm");
const VersionsView = makeLazy(() => import("./views/versions.js"), "VersionsView");
const BindingView = makeLazy(() => import("./views/binding.js"), "BindingView");
const OutcomesView = makeLazy(() => import("./views/outcomes.js"), "OutcomesView");

const VIEWS = [
  ["cluster", "Cluster", "c"],
  ["pending", "Pending", "w"],
  ["decisions", "Decisions", "d"],
  ["policies", "Policies", "p"],
  ["edit", "Edit", "e"],
];
const OF_SCHEDULER = [["versions", "Versions", "v"]];
const POLL_MILLISECONDS = 3000;
/** HTTP: Unauthorized, Forbidden. */
const DENIED = [401, 403];

function Page() {
  const [route, setRoute] = useState(readRoute);
  const [status, setStatus] = useState(null);
  const [problem, setProblem] = useState(null);
  const [areKeysShown, setAreKeysShown] = useState(false);

  const show = (answer) => {
    chooseWords(answer);
    setStatus({ ...answer, askedAt: Date.now() });
    setProblem(null);
  };
  const refresh = () => ask("status").then(show, setProblem);
  useEffect(() => {
    const change = () => {
      if (takeKeyFromAddress()) refresh(); // a printed URL with a new key, opened in the same tab
      setRoute(readRoute());
    };
    window.addEventListener("hashchange", change);
    change(); // the address may have changed since the first drawing
    refresh();
    const timer = setInterval(refresh, POLL_MILLISECONDS);
    return () => {
      window.removeEventListener("hashchange", change);
      clearInterval(timer);
    };
  }, []);
  useKeys(() => setAreKeysShown((shown) => !shown), () => setAreKeysShown(false));
  useEffect(() => {
    document.title = showText(`${route.path.join("/") || "cluster"} – policysched`);
  }, [route]);

  const needsToken = isServedByScheduler && DENIED.includes(problem?.status);
  return html`
    <${Header} status=${status} problem=${problem} view=${route.path[0] ?? "cluster"} onStep=${show} onError=${setProblem} />
    ${problem && !needsToken && html`<p class="error banner" role="alert">${problem.message}</p>`}
    ${status && !problem && html`<${ProcessBanners} status=${status} />`}
    <main id="view" tabindex="-1" data-address=${route.address}>
      ${needsToken && html`<${TokenForm} problem=${problem} onToken=${refresh} />`}
      ${status && !needsToken && html`<${Guarded} address=${route.address}><${View} route=${route} status=${status} problem=${problem} /><//>`}
    </main>
    ${areKeysShown && html`<${KeyList} status=${status} onClose=${() => setAreKeysShown(false)} />`}
  `;
}

/** A scheduler's own page has no editor, which needs the engine beside the scheduling loop; a file has no decisions. */
function listViews(status) {
  const hasDecisions = status?.kind === "scheduler" || status?.kind === "demo";
  const hidden = [...(isServedByScheduler ? ["edit"] : []), ...(hasDecisions ? [] : ["decisions"])];
  const views = VIEWS.filter(([path]) => !hidden.includes(path));
  return status?.kind === "scheduler" ? [...views, ...OF_SCHEDULER] : views;
}

function Header({ status, problem, view, onStep, onError }) {
  return html`
    <header>
      <a class="name" href="#/cluster">policysched</a>
      <nav aria-label="Views">
        ${listViews(status).map(
          ([path, title]) =>
            html`<a href=${makeAddress([path])} aria-current=${view === path ? "page" : undefined}>
              ${path === "cluster" ? words.map : title}${path === "pending" && status && status.pending !== null ? ` (${formatNumber(status.pending)})` : ""}
            </a>`,
        )}
      </nav>
      <${Search} />
      ${status && html`<p class="facts">${problem ? `no answer since ${formatTime(new Date(status.askedAt).toISOString())}` : describeStatus(status)}<${Edited} /></p>`}
      ${status && html`<${Steps} steps=${status.steps} onStep=${onStep} onError=${onError} />`}
    </header>
  `;
}

function describeStatus(status) {
  if (status.kind === "scheduler") return status.scheduler ? describeProcess(status) : status.title;
  const policies = status.policies.length
    ? `${formatCount(status.policies.length, "policy file")}, policies version ${status.hash}`
    : words.withoutPolicies;
  return `${status.title}: ${formatCount(status.nodes, words.node)}, ${formatCount(status.placed, `placed ${words.pod}`)} · ${policies}`;
}

/** Says in every view that the policies which it uses are not the edited ones. */
function Edited() {
  const { edits } = useEdits();
  return edits !== null && html` · <a href=${makeAddress(["edit"])}>edited, not in the cluster</a>`;
}

function Steps({ steps, onStep, onError }) {
  const [isBusy, setIsBusy] = useState(false);
  const take = (name) => {
    setIsBusy(true);
    takeStep(name)
      .then(onStep, onError)
      .finally(() => setIsBusy(false));
  };
  return html`<div class="steps">
    ${Object.entries(steps).map(
      ([name, text]) => html`<button disabled=${isBusy} onClick=${() => take(name)}>${text}</button>`,
    )}
  </div>`;
}

function View({ route, status, problem }) {
  const [name, ...rest] = route.path;
  const generation = status.generation;
  const isFollowed = status.kind === "scheduler";
  const live = status.scheduler?.generation ?? generation;
  switch (name ?? "cluster") {
    case "cluster":
      return html`<${ClusterView} options=${route.options} generation=${generation} />`;
    case "pods":
      if (!isFollowed && status.kind !== "demo") return html`<${PodView} pod=${rest.join("/")} options=${route.options} generation=${generation} />`;
      if (isFollowed && !status.listing) return html`<${RecordsView} pod=${rest.join("/")} status=${status} />`;
      return html`<${ListedPodView} pod=${rest.join("/")} options=${route.options} generation=${generation} status=${status} />`;
    case "bindings":
      return html`<${BindingView} binding=${rest.join("/")} options=${route.options} generation=${generation} />`;
    case "nodes":
    case "clusters":
      // Samples age while nothing else changes.
      return html`<${NodeView} node=${rest.join("/")} generation=${isFollowed && !status.listing ? status.askedAt : generation} />`;
    case "pending":
      if (isFollowed) return html`<${QueueView} options=${route.options} generation=${status.askedAt} />`;
      if (words.areBindings) return html`<${OutcomesView} generation=${generation} />`;
      return html`<${PendingView} generation=${generation} />`;
    case "decisions":
      return html`<${DecisionsView} status=${status} options=${route.options} problem=${problem} />`;
    case "versions":
      if (!isFollowed) return html`<p>Only a running scheduler has versions: start policysched ui with --decisions URL.</p>`;
      // Guards change while nothing else does.
      return html`<${VersionsView} generation=${status.scheduler?.rollout ? status.askedAt : live} />`;
    case "policies":
    case "rules":
      return html`<${PoliciesView} kind=${name} what=${rest.join("/")} options=${route.options} hasVersions=${isFollowed} generation=${live} />`;
    case "edit":
      if (isServedByScheduler) return html`<p>The page of a scheduler has no editor: start policysched ui with --decisions URL --live.</p>`;
      return html`<${EditView} options=${route.options} origin=${status.scheduler?.origin} isDemo=${status.kind === "demo"} generation=${status.hash} />`;
    default:
      return html`<p class="error" role="alert">There is no view “${name}”. <a href="#/cluster">Cluster</a></p>`;
  }
}

/** Returns the keys and what they do. */
function listKeys(status) {
  return [
    ["/", `find a ${words.pod}, a ${words.node} or a rule`],
    ...listViews(status).map(([path, title, key]) => [`g ${key}`, path === "cluster" ? words.map : title]),
    ["t", "map or table of the cluster"],
    ["arrows, Home, End, Enter", `move on the map, and open the ${words.node}`],
    ["Ctrl Space, Ctrl Enter", "in the editor: complete, plan"],
    ["Tab, Shift Tab", "everywhere, and out of the editor: the next field, the one before"],
    ["Esc", "close, or go back"],
    ["?", "this list"],
  ];
}

function KeyList({ status, onClose }) {
  const close = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    close.current.focus();
    return () => before.focus();
  }, []);
  return html`<div class="keys" role="dialog" aria-label="Keys">
    <table>
      ${listKeys(status).map(([key, text]) => html`<tr><th scope="row"><kbd>${key}</kbd></th><td>${text}</td></tr>`)}
    </table>
    <button ref=${close} onClick=${onClose}>Close</button>
  </div>`;
}

/** Lets keys work everywhere except in fields. */
function useKeys(toggleKeyList, closeKeyList) {
  useEffect(() => {
    let isAfterG = false;
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") closeKeyList();
      if (event.target.closest("input, select, textarea, .editor")) return;
      const view = isAfterG && [...VIEWS, ...OF_SCHEDULER].find(([, , key]) => key === event.key);
      isAfterG = event.key === "g";
      if (view) go(makeAddress([view[0]]));
      else if (event.key === "?") toggleKeyList();
      else if (event.key === "/") {
        event.preventDefault();
        document.querySelector("#find").focus();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}

takeKeyFromAddress();
render(html`<${Page} />`, document.querySelector("#page"));
