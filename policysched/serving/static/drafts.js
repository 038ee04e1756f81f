// Edited policies. They stay in this tab, also after a reload, until they are reset.

const DRAFTS_NAME = "policysched drafts";

/** Returns the saved edits { base, texts }: see `makeDrafts`; null if there are none. */
export function loadEdits() {
  try {
    const saved = JSON.parse(sessionStorage.getItem(DRAFTS_NAME));
    const areTexts = Object.values(saved.texts).every((text) => typeof text === "string");
    return areTexts && typeof saved.texts === "object" ? { base: saved.base, texts: saved.texts } : null;
  } catch {
    return null; // there are none, or another version of the page wrote them
  }
}

/** Saves edits, or forgets them if `edits` is null; returns false if they are too long to save. */
export function saveEdits(edits) {
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

/** Returns the texts after edits [{ file, start, end, text }], which do not overlap. */
export function applyEdits(texts, edits) {
  const changed = { ...texts };
  const lastFirst = [...edits].sort((one, other) => other.start - one.start);
  for (const { file, start, end, text } of lastFirst) {
    changed[file] = changed[file].slice(0, start) + text + changed[file].slice(end);
  }
  return changed;
}
