// Starts `policysched lsp` and hands it policy files and manifests.

"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

const SECTION = "policysched";
const SERVER_SETTINGS = ["cluster", "kubeconfig", "context", "prometheus", "program"];

let client;

function serverSettings() {
  const all = vscode.workspace.getConfiguration(SECTION);
  const given = {};
  for (const name of SERVER_SETTINGS) {
    const value = all.get(name);
    if (value) {
      given[name] = value;
    }
  }
  return given;
}

function newClient() {
  const all = vscode.workspace.getConfiguration(SECTION);
  const [command, ...args] = all.get("command", ["policysched", "lsp"]);
  const executable = { command, args, transport: TransportKind.stdio };
  return new LanguageClient(
    SECTION,
    "policysched",
    { run: executable, debug: executable },
    {
      documentSelector: [
        { scheme: "file", language: "policysched" },
        { scheme: "untitled", language: "policysched" },
        { scheme: "file", language: "yaml" },
      ],
      initializationOptions: serverSettings(),
    },
  );
}

async function start() {
  client = newClient();
  try {
    await client.start();
  } catch (error) {
    const advice = "install it with `pip install policysched[lsp]`, or set policysched.command";
    void vscode.window.showErrorMessage(`policysched does not start: ${error.message}; ${advice}`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined && running.isRunning()) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("policysched.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration(SECTION)) {
        await restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
