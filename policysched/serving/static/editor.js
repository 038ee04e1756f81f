// The text editor: CodeMirror in a shadow root, whose style sheets need no exception in the policy
// of the browser. Only the view that edits loads it, because it is large.

import { html } from "./html.js";
import { render, useEffect, useRef } from "./vendor/preact.js";
import { askLanguage } from "./api.js";
import * as codemirror from "./vendor/codemirror.js";
import { Markdown } from "./markdown.js";
import { makePolicyLanguage } from "./policy_language.js";
import { UNSEEN, showCharacter, showText } from "./visible.js";

const KINDS = { keyword: "keyword", operator: "keyword", label: "property", value: "constant" };

/** A number that is typed is what the user wants, rather than the first proposal that begins with it. */
const NUMBER = /(?<![\w.\-/])\d[\w.%]*$/;

/** The state of each text that was open in this tab: its cursor, and what can be undone. */
const states = new Map();
/** CodeMirror keeps each theme and language forever, so all editors share one. */
let shared = null;

/**
 * The text `name` of `texts`. While the user types, the editor is ahead of `texts`, so it takes its
 * content from them only when it opens and when `revision` changes.
 *
 * @param revision increases when something else than the editor changes `texts`
 * @param findings the findings of this text
 * @param goal { at } of a place to show, or null
 * @param onChange gets the new content
 * @param onEdits gets the edits of a fix
 */
export function Editor({ name, texts, revision, keywords, findings, goal, onChange, onEdits, onPlan }) {
  const host = useRef(null);
  const opened = useRef(null);
  const current = useRef(null);
  current.current = { name, texts, onChange, onEdits, onPlan };
  useEffect(() => {
    opened.current = openEditor(host.current, current, keywords);
    return () => {
      closeEditor(opened.current, name);
      opened.current = null;
    };
  }, [name]);
  useEffect(() => {
    if (opened.current) replaceContent(opened.current, texts[name]);
  }, [revision]);
  useEffect(() => {
    if (opened.current) showFindings(opened.current, findings, current);
  }, [findings]);
  useEffect(() => {
    if (opened.current && goal) showPlace(opened.current, goal.at);
  }, [goal]);
  return html`<div class="editor" ref=${host}></div>`;
}

function openEditor(host, current, keywords) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const { name, texts } = current.current;
  const saved = states.get(name);
  const extensions = listExtensions(current, keywords);
  const view = new codemirror.EditorView({
    root,
    parent: root,
    state: codemirror.EditorState.create({ doc: saved?.doc ?? texts[name], extensions }),
  });
  if (saved) view.dispatch({ selection: saved.selection });
  replaceContent(view, texts[name]);
  return view;
}

function closeEditor(view, name) {
  states.set(name, { doc: view.state.doc, selection: view.state.selection });
  view.destroy();
}

function listExtensions(current, keywords) {
  const { EditorView, keymap } = codemirror;
  shared ??= { theme: EditorView.theme(THEME), language: makePolicyLanguage(keywords) };
  const closeCompletion = codemirror.completionKeymap.find(({ key }) => key === "Escape").run;
  const plan = {
    key: "Mod-Enter",
    run: (view) => {
      closeCompletion(view); // the next Enter would take a proposal
      current.current.onPlan();
      return true;
    },
  };
  return [
    codemirror.lineNumbers(),
    codemirror.history(),
    codemirror.drawSelection(isMotionReduced() ? { cursorBlinkRate: 0 } : {}),
    codemirror.bracketMatching(),
    codemirror.closeBrackets(),
    codemirror.highlightActiveLine(),
    codemirror.highlightSpecialChars({ specialChars: UNSEEN, render: (code) => makeText(showCharacter(code)) }),
    codemirror.indentUnit.of("  "),
    codemirror.lintGutter(),
    shared.language,
    codemirror.syntaxHighlighting(codemirror.classHighlighter),
    codemirror.autocompletion({ override: [(context) => complete(context, current)] }),
    codemirror.hoverTooltip((view, at) => describePlace(view, at, current)),
    keymap.of([
      plan,
      ...codemirror.closeBracketsKeymap,
      ...codemirror.completionKeymap,
      ...codemirror.lintKeymap,
      ...codemirror.historyKeymap,
      ...codemirror.defaultKeymap,
    ]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "policy text", spellcheck: "false", tabindex: "0" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) current.current.onChange(update.state.doc.toString());
    }),
    shared.theme,
  ];
}

function isMotionReduced() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Colours are those of the page; marks of findings are lines, as pictures would be `data:` URLs. */
const THEME = {
  "&": { fontSize: "13px", maxHeight: "70vh", border: "1px solid var(--line)" },
  "&.cm-focused": { outline: "2px solid var(--link)" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { background: "var(--soft)", color: "var(--quiet)", border: "0" },
  ".cm-activeLine": { background: "light-dark(rgb(0 0 0 / 4%), rgb(255 255 255 / 5%))" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    background: "light-dark(#bcd9f5, #234a70)",
  },
  ".cm-tooltip": { background: "var(--back)", color: "var(--text)", border: "1px solid var(--line)", maxWidth: "34rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--bar)", color: "#ffffff" },
  ".told": { padding: "0 0.6rem", overflow: "auto", maxHeight: "min(12rem, 30vh)", overflowWrap: "anywhere", font: "12px/1.35 system-ui, sans-serif" },
  ".told p, .told ul": { margin: "0.3rem 0" },
  ".told pre": { whiteSpace: "pre-wrap" },
  ".cm-lintRange": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px" },
  ".cm-lintRange-info": { textDecorationColor: "var(--quiet)" },
  ".cm-lint-marker": { content: "none", width: "0.7em", height: "0.7em", borderRadius: "50%", background: "var(--bad)" },
  ".cm-lintRange-warning": { textDecorationColor: "var(--warn)", textDecorationStyle: "dashed" },
  ".cm-lint-marker-error": { borderRadius: "0" },
  ".cm-lint-marker-warning": { borderRadius: "0", background: "var(--warn)", clipPath: "polygon(50% 0, 100% 100%, 0 100%)" },
  ".cm-lint-marker-info": { background: "var(--quiet)" },
  ".cm-diagnostic": { borderLeft: "4px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnosticAction": { color: "#ffffff", background: "#2f5f8f" },
  ".tok-keyword": { color: "light-dark(#7a2ea0, #d6a4f0)" },
  ".tok-string": { color: "light-dark(#8a4b00, #f0b96b)" },
  ".tok-number": { color: "light-dark(#00694c, #4fd1a5)" },
  ".tok-comment": { color: "var(--quiet)", fontStyle: "italic" },
};

/**
 * Puts a text in the place of the content, such as after a fix; only what differs is changed. One
 * undo takes it back.
 */
function replaceContent(view, text) {
  const old = view.state.doc.toString();
  if (old === text) return;
  let start = 0;
  while (start < old.length && old[start] === text[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, text.length) - start;
  while (end < most && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  view.dispatch({
    changes: { from: start, to: old.length - end, insert: text.slice(start, text.length - end) },
    annotations: codemirror.isolateHistory.of("full"),
  });
}

function showPlace(view, at) {
  const place = Math.min(at, view.state.doc.length);
  view.dispatch({
    selection: { anchor: place },
    effects: codemirror.EditorView.scrollIntoView(place, { y: "center" }),
  });
  view.focus();
}

// --- findings, completion, hover ---------------------------------------------------------------

function showFindings(view, findings, current) {
  const length = view.state.doc.length;
  const diagnostics = findings.map((each) => ({
    from: Math.min(each.start, length),
    to: Math.min(each.end, length),
    severity: each.severity,
    source: each.code,
    message: each.message,
    renderMessage: () => makeText(`${each.message}${each.help ? ` (${each.help})` : ""}`),
    actions: each.actions.map(({ title, edits }) => ({
      name: showText(title),
      apply: () => current.current.onEdits(edits),
    })),
  }));
  view.dispatch(codemirror.setDiagnostics(view.state, diagnostics));
}

async function complete(context, current) {
  if (!context.explicit && (!context.matchBefore(/[\w"`(,.=-]$/) || context.matchBefore(NUMBER))) return null;
  const answer = await askAt("complete", context.state, context.pos, current);
  if (!answer || context.aborted) return null;
  return {
    from: answer.start,
    to: answer.end,
    options: answer.items.map(({ text, kind, detail, doc }) => ({
      label: text,
      displayLabel: showText(text),
      type: KINDS[kind] ?? "text",
      detail: showText(detail),
      info: doc ? () => makeMarkdown(doc) : undefined,
    })),
  };
}

async function describePlace(view, at, current) {
  const answer = await askAt("hover", view.state, at, current);
  if (!answer?.markdown) return null;
  // Above: the next lines are what the user reads next.
  return { pos: answer.start, end: answer.end, above: true, create: () => ({ dom: makeMarkdown(answer.markdown) }) };
}

/** Returns an answer about a place, or null if the server has none. */
function askAt(kind, state, at, current) {
  const { name, texts } = current.current;
  const question = { kind, texts: { ...texts, [name]: state.doc.toString() }, name, at };
  return askLanguage(question).catch(() => null);
}

function makeMarkdown(text) {
  const made = document.createElement("div");
  made.className = "told";
  render(html`<${Markdown} text=${text} />`, made);
  return made;
}

function makeText(text) {
  const made = document.createElement("span");
  made.textContent = showText(text);
  return made;
}
