// Tokenises policies with the engine of VS Code.

"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const FOLDER = path.join(__dirname, "..");
const GRAMMARS = {
  "source.policysched": "syntaxes/policysched.tmLanguage.json",
  "source.yaml.policysched": "syntaxes/configmap.injection.tmLanguage.json",
};
// As much of YAML as the injection needs to stand in.
const YAML = { scopeName: "source.yaml", patterns: [{ match: "^[a-z]+(?=:)", name: "entity.name.tag.yaml" }] };

async function grammar(scope) {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength)).catch(() => {});
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (name) =>
      name === "source.yaml" ? YAML : JSON.parse(fs.readFileSync(path.join(FOLDER, GRAMMARS[name]), "utf8")),
    getInjections: (name) => (name === "source.yaml" ? ["source.yaml.policysched"] : undefined),
  });
  return registry.loadGrammar(scope);
}

function scopes(language, text) {
  const found = {};
  let state = textmate.INITIAL;
  for (const line of text.split("\n")) {
    const result = language.tokenizeLine(line, state);
    for (const token of result.tokens) {
      const word = line.slice(token.startIndex, token.endIndex).trim();
      if (word && !(word in found)) {
        found[word] = token.scopes[token.scopes.length - 1];
      }
    }
    state = result.ruleStack;
  }
  return found;
}

const POLICY = `metric cpu_busy: ratio = \`1 - avg by (instance) (rate(cpu_total{mode="idle"}[$range]))\`
  node instance  refresh 15s
policy web {
  # policysched: ignore[PS208] why
  nodeAffinity required disktype NotIn (hdd) and gpu Exists
  reject when cpu_busy > 80% missing allow as too-hot
}`;

test("words of a policy have their scopes", async () => {
  const found = scopes(await grammar("source.policysched"), POLICY);
  assert.strictEqual(found["metric"], "keyword.control.item.policysched");
  assert.strictEqual(found["cpu_busy"], "variable.other.definition.policysched");
  assert.strictEqual(found["rate"], "support.function.promql");
  assert.strictEqual(found["$range"], "variable.parameter.policysched");
  assert.strictEqual(found["web"], "entity.name.type.policysched");
  assert.strictEqual(found["PS208"], "constant.other.code.policysched");
  assert.strictEqual(found["NotIn"], "keyword.operator.label.policysched");
  assert.strictEqual(found["required"], "keyword.other.policysched");
  assert.strictEqual(found["80%"], "constant.numeric.policysched");
  assert.strictEqual(found["too-hot"], "entity.name.function.policysched");
});

test("a policy in a ConfigMap is coloured, what follows it is not", async () => {
  const indented = POLICY.split("\n").map((line) => `    ${line}`).join("\n");
  const text = `kind: ConfigMap\ndata:\n  web.policy: |\n${indented}\n  other: reject\n`;
  const found = scopes(await grammar("source.yaml"), text);
  assert.strictEqual(found["NotIn"], "keyword.operator.label.policysched");
  assert.strictEqual(found["other: reject"], "source.yaml");
});
