// Edited policies. They stay in this tab, also after a reload, until they are reset.

import { makeShared } from "./shared.js";

const DRAFTS_NAME = "policysched drafts";

/** { edits, isSaved }: edits are { base, texts }, see `makeDrafts`, or null if there are none. */
const drafts = makeShared({ edits: readEdits(), isSaved: true });
/** The name of the text that was edited last; "" for none. */
let lastFile = "";

/** Returns { edits, isSaved }; they are not saved if they are too long for the browser. */
export function useEdits() {
  return drafts.use();
}

/** Keeps edits, or forgets them if `edits` is null. */
export function setEdits(edits) {
  drafts.set({ edits, isSaved: saveEdits(edits) });
}

export function getLastFile() {
  return lastFile;
}

export function setLastFile(name) {
  lastFile = name;
}

function readEdits() {
  try {
    const saved = JSON.parse(sessionStorage.getItem(DRAFTS_NAME));
    const areTexts = Object.values(saved.texts).every((text) => typeof text === "string");
    return areTexts && typeof saved.texts === "object" ? { base: saved.base, texts: saved.texts } : null;
  } catch {
    return null; // there are none, or another version of the page wrote them
  }
}

function saveEdits(edits) {
  sessionStorage.removeItem(DRAFTS_NAME);
  if (edits === null) return true;
  try {
    sessionStorage.setItem(DRAFTS_NAME, JSON.stringify(edits));
    return true;
  } catch {
    return false; // the edits stay on the page until it is loaded again
  }
}

/** Returns { base, texts }: the hash of the policies in use, and their texts by name. */
export function makeDrafts(policies) {
  const texts = policies.files.map(({ name, text }) => [name, text.replaceAll("\r\n", "\n")]);
  return { base: policies.hash, texts: Object.fromEntries(texts) };
}

/** Returns the names of the texts that differ. */
export function listEdited(inUse, texts) {
  const names = new Set([...Object.keys(inUse), ...Object.keys(texts)]);
  return [...names].filter((name) => inUse[name] !== texts[name]);
}

/** Returns the texts after edits [{ file, start, end, text }], which do not overlap. */
export function applyEdits(texts, edits) {
  const changed = { ...texts };
  const lastFirst = [...edits].sort((one, other) => other.start - one.start);
  for (const { file, start, end, text } of lastFirst) {
    changed[file] = changed[file].slice(0, start) + text + changed[file].slice(end);
  }
  return changed;
}

/** Returns the offset at which a 1-based line begins. */
export function findLineStart(text, line) {
  return text.split("\n").slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
}
