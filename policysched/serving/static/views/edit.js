// Editing policies: findings while typing, and a plan of what the edits would do to the pods.

import { html } from "../html.js";
import { useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { ask, askLanguage } from "../api.js";
import { applyEdits, findLineStart, getLastFile, listEdited, makeDrafts, setEdits, setLastFile, useEdits } from "../drafts.js";
import { shortenNames } from "../file_names.js";
import { Waiting, makeLazy, useAnswer } from "../loading.js";
import { formatCount } from "../numbers.js";
import { makePlan, usePlan } from "../plans.js";
import { go, makeAddress } from "../routes.js";
import { Changes } from "./changes.js";
import { Kubectl, Sources, download } from "./edit_sources.js";
import { PlanReport } from "./plan.js";

const Editor = makeLazy(() => import("../editor.js"), "Editor");

const PAUSE_MILLISECONDS = 250;
const GRAVITY = ["error", "warning", "info"];
const FIRST_POLICY = "policy my-policy {\n  for pods\n\n}\n";

/** @param origin the source of the policies of a running scheduler */
export function EditView({ options, origin, isDemo, generation }) {
  const { answer: policies, error } = useAnswer(() => ask("policies"), [generation]);
  if (!policies) return html`<${Waiting} error=${error} what="reading the policies" />`;
  return html`<h1>Edit policies</h1>
    <${Drafts} policies=${policies} origin=${origin} isDemo=${isDemo} file=${options.get("file") ?? ""} line=${Number(options.get("line"))} />`;
}

/** @param line the 1-based line to show; 0 for none */
function Drafts({ policies, origin, isDemo, file, line }) {
  const drafts = useDrafts(policies);
  const [goal, setGoal] = useState(null);
  const plan = usePlan();
  const { texts, change } = drafts;
  const names = Object.keys(texts);
  const name = [file, getLastFile(), ...names].find((each) => names.includes(each));
  const short = shortenNames(names);
  const findings = useFindings(texts, name);
  useEffect(() => setLastFile(name ?? ""), [name]);
  useEffect(() => {
    if (line > 0 && name !== undefined) setGoal({ at: findLineStart(texts[name], line) });
  }, [name, line]);

  const edited = listEdited(drafts.inUse, texts).filter((each) => names.includes(each));
  const hasError = findings.list.some(({ severity }) => severity === "error");
  const startPlan = () => void makePlan(drafts.inUse, drafts.readTexts());
  const open = (finding) => {
    go(makeAddress(["edit"], { file: finding.file }));
    setGoal({ at: finding.start });
  };
  return html`
    ${drafts.isOutdated && html`<p class="warning" role="alert">The policies in use have changed since these edits began; a plan compares with those in use now.</p>`}
    ${!drafts.isSaved && html`<p class="warning" role="alert">These edits are too long for the browser to keep: download them before you close or reload the page.</p>`}
    <${Version} policies=${policies} drafts=${drafts} findings=${findings} />
    <${Files} names=${names} short=${short} name=${name} texts=${texts} inUse=${drafts.inUse} change=${change} />
    <div class="edit">
      <div>
        ${name === undefined
          ? html`<p>There are no policies yet: give the first file a name.</p>`
          : html`<${Editor}
              name=${name}
              texts=${texts}
              revision=${drafts.revision}
              keywords=${policies.keywords}
              findings=${findings.list.filter((each) => each.file === name)}
              goal=${goal}
              onChange=${(text) => drafts.keep((before) => ({ ...before, [name]: text }))}
              onEdits=${(edits) => drafts.applyTo(findings.texts, edits)}
              onPlan=${startPlan}
            />`}
        <${Buttons} name=${name} edited=${edited} hasError=${hasError} drafts=${drafts} files=${policies.files} origin=${origin} isDemo=${isDemo} startPlan=${startPlan} />
        <${FindingCount} findings=${findings} />
        <${Sources} names=${edited.length > 1 ? edited : [name]} files=${policies.files} origin=${origin} isDemo=${isDemo} />
      </div>
      <${PlanReport} plan=${plan} isOld=${plan !== null && listEdited(plan.texts, texts).length > 0} />
      <div><${Findings} findings=${findings} short=${short} open=${open} fix=${(edits) => drafts.applyTo(findings.texts, edits)} /></div>
    </div>
  `;
}

/** Shows the versions on both sides of a plan. That of the edited texts is known after the findings. */
function Version({ policies, drafts, findings }) {
  const hash = findings.texts === drafts.texts ? findings.hash : "";
  return html`<p class="quiet">version in use: ${policies.hash || "none"}${drafts.isEdited && ` · edited: ${hash ? `version ${hash}, ` : ""}not in the cluster`}</p>`;
}

/**
 * Returns the edited texts, or those in use without edits, and functions that change them: `keep`
 * takes over what the editor already shows, and `change` makes the editor show the new texts.
 */
function useDrafts(policies) {
  const { edits, isSaved } = useEdits();
  const [revision, setRevision] = useState(0);
  const unedited = useMemo(() => makeDrafts(policies), [policies]);
  const latest = useRef(null); // a key may follow a letter before the page is drawn again
  latest.current = edits ?? unedited;
  const isEdited = ({ texts }) => listEdited(unedited.texts, texts).length > 0;
  useEffect(() => {
    if (edits !== null && !isEdited(edits)) setEdits(null); // the edits are in use now
    setRevision((before) => before + 1);
  }, [unedited]);
  const keep = (changed) => {
    latest.current = { base: latest.current.base, texts: changed(latest.current.texts) };
    setEdits(isEdited(latest.current) ? latest.current : null);
  };
  const change = (changed) => {
    keep(changed);
    setRevision((before) => before + 1);
  };
  // The user may have typed since the edits were computed; their places would then be wrong.
  const applyTo = (texts, edits) =>
    change((now) => (edits.every(({ file }) => now[file] === texts[file]) ? applyEdits(now, edits) : now));
  return {
    texts: latest.current.texts,
    readTexts: () => latest.current.texts,
    inUse: unedited.texts,
    isEdited: edits !== null,
    isSaved,
    isOutdated: edits !== null && edits.base !== unedited.base,
    revision,
    keep,
    change,
    applyTo,
    reset: () => {
      setEdits(null);
      setRevision((before) => before + 1);
    },
  };
}

/** Returns the findings of all texts, asked for again after a pause in typing. */
function useFindings(texts, name) {
  const [found, setFound] = useState({ texts, hash: "", list: [], total: 0, isLinted: true, knowsCluster: true, error: "" });
  useEffect(() => {
    if (name === undefined) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      askLanguage({ kind: "findings", texts, name }).then(
        ({ findings, ...answer }) => isCurrent && setFound({ texts, list: findings, ...answer, error: "" }),
        (error) => isCurrent && setFound((before) => ({ ...before, texts, list: [], total: 0, error: error.message })),
      );
    }, PAUSE_MILLISECONDS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [texts, name === undefined]);
  return found;
}

function Files({ names, short, name, texts, inUse, change }) {
  const [isNaming, setIsNaming] = useState(false);
  const add = (event) => {
    event.preventDefault();
    const typed = new FormData(event.target).get("file").trim();
    if (!typed) return;
    const added = typed.endsWith(".policy") ? typed : `${typed}.policy`;
    change((before) => ({ [added]: FIRST_POLICY, ...before }));
    setIsNaming(false);
    go(makeAddress(["edit"], { file: added }));
  };
  return html`<nav class="files" aria-label="Policy files">
    ${names.map(
      (each) => html`<a href=${makeAddress(["edit"], { file: each })} title=${each} aria-current=${each === name ? "true" : undefined}>
        ${short[each]}${texts[each] === inUse[each] ? "" : inUse[each] === undefined ? " (new)" : " (edited)"}
      </a> `,
    )}
    ${isNaming
      ? html`<form onSubmit=${add}>
          <label>name <input name="file" autocomplete="off" spellcheck=${false} /></label> <button>add</button>
        </form>`
      : html`<button onClick=${() => setIsNaming(true)}>new file</button>`}
  </nav>`;
}

function Buttons({ name, edited, hasError, drafts, files, origin, isDemo, startPlan }) {
  const { texts, change } = drafts;
  const format = (kind) =>
    askLanguage({ kind, texts, name }).then(
      (answer) => drafts.applyTo(texts, answer.edits),
      () => undefined, // the list of findings shows the error
    );
  const remove = () => change(({ [name]: _removed, ...others }) => others);
  return html`<div class="buttons">
    <button class="main" onClick=${startPlan}>plan <kbd>Ctrl Enter</kbd></button>
    ${name !== undefined &&
    html`<button onClick=${() => format("format")}>format</button>
      <button onClick=${() => format("fixes")}>apply all safe fixes</button>
      ${edited.length > 1
        ? edited.map((each) => html`<button onClick=${() => download(each, texts[each])}>download ${shortenNames(edited)[each]}</button>`)
        : html`<button onClick=${() => download(name, texts[name])}>download</button>`}
      <button onClick=${remove}>remove the file</button>`}
    <${Reset} drafts=${drafts} />
    <${Difference} drafts=${drafts} />
    <${Kubectl} drafts=${drafts} hasError=${hasError} files=${files} origin=${origin} isDemo=${isDemo} />
  </div>`;
}

/** Asks before it drops the edits, because no undo brings back those of all texts. */
function Reset({ drafts }) {
  const [isAsking, setIsAsking] = useState(false);
  const keep = useRef(null);
  useEffect(() => keep.current?.focus(), [isAsking]); // it takes the place of the button, and is in sight
  const names = Object.values(shortenNames(listEdited(drafts.inUse, drafts.texts)));
  const drop = () => {
    setIsAsking(false);
    drafts.reset();
  };
  if (!isAsking || !drafts.isEdited) return html`<button disabled=${!drafts.isEdited} onClick=${() => setIsAsking(true)}>reset</button>`;
  return html`<span class="question" role="alert">
    Drop the edits of ${names.join(", ")}?${" "}
    <button onClick=${drop}>drop the edits</button> <button ref=${keep} onClick=${() => setIsAsking(false)}>keep them</button>
  </span>`;
}

function Difference({ drafts }) {
  const [isOpen, setIsOpen] = useState(false);
  const list = (texts) => Object.entries(texts).map(([name, text]) => ({ name, text }));
  return html`<button aria-expanded=${isOpen} onClick=${() => setIsOpen(!isOpen)}>diff</button>
    ${isOpen && html`<div class="difference"><${Changes} from=${list(drafts.inUse)} to=${list(drafts.texts)} none="the texts are those in use" /></div>`}`;
}

/** Says under the editor how many findings there are, and leads to them: they may be far below. */
function FindingCount({ findings }) {
  if (findings.error || !findings.total) return null;
  const hasError = findings.list.some(({ severity }) => severity === "error");
  const show = () => document.querySelector(".found").scrollIntoView({ block: "nearest" });
  return html`<p><button class=${hasError ? "error" : ""} onClick=${show}>${formatCount(findings.total, "finding")}</button></p>`;
}

function Findings({ findings, short, open, fix }) {
  if (findings.error) return html`<p class="error" role="alert">${findings.error}</p>`;
  const without = findings.knowsCluster
    ? ""
    : html`<p class="quiet">Findings about labels and pods of the cluster need a listing: start the page with --live.</p>`;
  if (findings.total === 0) return html`<p class="quiet">no findings</p>${without}`;
  const more = findings.total - findings.list.length;
  return html`<section class="found">
    <h2>${formatCount(findings.total, "finding")}</h2>
    <ul class="findings">
      ${sortByGravity(findings.list).map(
        (each) => html`<li class=${each.severity}>
          <button onClick=${() => open(each)}>${short[each.file] ?? each.file}:${each.line}:${each.column}</button>${" "}
          <b>${each.severity} ${each.code}</b> ${each.message}${each.help ? ` (${each.help})` : ""}${" "}
          ${each.actions.filter((action) => action.isFix).map(
            ({ title, edits }) => html`<button onClick=${() => fix(edits)}>${title}</button> `,
          )}
        </li>`,
      )}
    </ul>
    ${!findings.isLinted && html`<p class="warning">lint waits until there is no error: more findings may appear then, also in other files</p>`}
    ${more > 0 && html`<p class="quiet">${formatCount(more, "more finding")}</p>`}
    ${without}
  </section>`;
}

function sortByGravity(list) {
  return [...list].sort((one, other) => GRAVITY.indexOf(one.severity) - GRAVITY.indexOf(other.severity));
}
