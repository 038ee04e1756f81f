// Patches that apply edited policies with kubectl. The API server refuses one if another user has
// changed the same text meanwhile. The page itself cannot write.

import { listEdited } from "./drafts.js";

const OF_SCHEDULER = /^configmap (.*)$/;
const CONFIG_MAP = /^(?:([a-z0-9][a-z0-9.-]*)\/)?([a-z0-9][a-z0-9.-]*)$/;

/**
 * Returns { of, names }: the ConfigMap of a text by its name, and all of them, `namespace/name` or
 * `name`. A text of a file has "", and a new one the first ConfigMap.
 *
 * @param origin the source of the policies of a running scheduler
 */
export function findConfigMaps(files, origin) {
  const ofScheduler = OF_SCHEDULER.exec(origin ?? "")?.[1] ?? "";
  const known = files.map(({ name, configMap }) => [name, configMap || ofScheduler]);
  const found = Object.fromEntries(known.map(([name, map]) => [name, CONFIG_MAP.test(map) ? map : ""]));
  const first = Object.values(found).find(Boolean) ?? (CONFIG_MAP.test(ofScheduler) ? ofScheduler : "");
  return { of: (name) => found[name] ?? first, names: [...new Set([...Object.values(found), first])].filter(Boolean) };
}

/**
 * Returns the command that restores a version from the history; "" without a ConfigMap and history.
 *
 * @param answer the versions of a running scheduler
 */
export function makeRollbackCommand(answer, hash) {
  const place = makePlaceOptions(answer);
  return place && /^[0-9a-f]+$/.test(hash) ? `policysched rollback ${hash}${place}` : "";
}

/**
 * Returns the command that requests something of the running rollout; "" without a ConfigMap and history.
 *
 * @param verb pause, resume, promote or abort
 */
export function makeRolloutCommand(answer, verb) {
  const place = makePlaceOptions(answer);
  return place && `policysched rollout ${verb}${place}`;
}

/** Returns the options that name the ConfigMaps of the policies and of their history; "" if one is unknown. */
function makePlaceOptions({ origin, history }) {
  const map = findConfigMaps([], origin).of("");
  if (map === "" || !CONFIG_MAP.test(history)) return "";
  return ` --policy-configmap ${map}${history === `${map}-history` ? "" : ` --history ${history}`}`;
}

/** Returns the command that shows who has written the ConfigMap of a running scheduler; "" without one. */
export function makeAuthorCommand(origin) {
  const [, namespace, name] = CONFIG_MAP.exec(findConfigMaps([], origin).of("")) ?? [];
  if (name === undefined) return "";
  return `kubectl get configmap ${name}${namespace ? ` --namespace ${namespace}` : ""} --show-managed-fields -o yaml`;
}

/** Returns [{ command, file, patch }] for each ConfigMap of `findConfigMaps` whose texts are edited. */
export function makePatches(configMaps, files, inUse, texts) {
  const stored = Object.fromEntries(files.map(({ name, text }) => [name, text]));
  const edited = listEdited(inUse, texts);
  return configMaps.names
    .map((map) => [map, edited.filter((name) => configMaps.of(name) === map).sort()])
    .filter(([, names]) => names.length > 0)
    .map(([map, names]) => {
      const [, namespace, name] = CONFIG_MAP.exec(map);
      const file = configMaps.names.length > 1 ? `policysched-patch-${name}.json` : "policysched-patch.json";
      const place = namespace ? ` --namespace ${namespace}` : "";
      const command = `kubectl patch configmap ${name}${place} --type json --patch-file ${file}`;
      return { command, file, patch: names.flatMap((each) => makeOperations(each, stored[each], texts[each])) };
    });
}

/**
 * Returns the operations of a JSON Patch (RFC 6902) that replace a text.
 *
 * @param before the text with the line ends that it has in the ConfigMap; undefined for a new one
 * @param after the edited text; undefined to remove it
 */
function makeOperations(name, before, after) {
  const path = `/data/${name.split("/").at(-1).replaceAll("~", "~0")}`;
  if (before === undefined) return [{ op: "add", path, value: after }];
  const test = { op: "test", path, value: before };
  return [test, after === undefined ? { op: "remove", path } : { op: "replace", path, value: after }];
}
