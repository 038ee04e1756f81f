// Colours of the policy language. The words come from the server, which has them from the grammar.

import { StreamLanguage } from "./vendor/codemirror.js";

const NUMBER = /^[0-9][0-9.]*(%|[A-Za-z]+)?/;
const WORD = /^[A-Za-z_][\w.\-/]*/;

/** Returns the language for CodeMirror; `keywords` are its reserved words. */
export function makePolicyLanguage(keywords) {
  const reserved = new Set(keywords);
  return StreamLanguage.define({
    name: "policy",
    startState: () => ({ isInQuery: false }),
    token(stream, state) {
      if (state.isInQuery) return readQuery(stream, state);
      if (stream.eatSpace()) return null;
      const next = stream.peek();
      if (next === "#") {
        stream.skipToEnd();
        return "comment";
      }
      if (next === "`") {
        stream.next();
        return readQuery(stream, state);
      }
      if (next === '"') return readString(stream);
      if (stream.match(NUMBER)) return "number";
      if (stream.match(WORD)) return reserved.has(stream.current()) ? "keyword" : "variableName";
      stream.next();
      return "operator";
    },
    languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "{", '"', "`"] } },
  });
}

/** PromQL goes on over lines until the next backtick. */
function readQuery(stream, state) {
  state.isInQuery = !stream.skipTo("`");
  if (state.isInQuery) stream.skipToEnd();
  else stream.next();
  return "string";
}

function readString(stream) {
  stream.next();
  for (let next = stream.next(); next && next !== '"'; next = stream.next()) {
    if (next === "\\") stream.next();
  }
  return "string";
}
