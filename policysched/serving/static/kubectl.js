// A patch that applies edited policies with kubectl. The API server refuses it if another user has
// changed the same text meanwhile. The page itself cannot write.

const CONFIG_MAP = /^configmap ([a-z0-9][a-z0-9.-]*)\/([a-z0-9][a-z0-9.-]*)$/;
export const PATCH_FILE = "policysched-patch.json";

/** Returns the command that applies the patch; null if no ConfigMap is the source of the policies. */
export function makePatchCommand(origin) {
  const found = CONFIG_MAP.exec(origin ?? "");
  if (found === null) return null;
  const [, namespace, name] = found;
  return `kubectl patch configmap ${name} --namespace ${namespace} --type json --patch-file ${PATCH_FILE}`;
}

/**
 * Returns the JSON Patch (RFC 6902) from the texts in use to the edited ones.
 *
 * @param stored the texts in use with the line ends that they have in the ConfigMap
 */
export function makePatch(stored, inUse, texts) {
  const names = [...new Set([...Object.keys(inUse), ...Object.keys(texts)])].sort();
  return names
    .filter((name) => inUse[name] !== texts[name])
    .flatMap((name) => {
      const path = `/data/${name.split("/").at(-1).replaceAll("~", "~0")}`;
      const [before, after] = [stored[name], texts[name]];
      if (before === undefined) return [{ op: "add", path, value: after }];
      const test = { op: "test", path, value: before };
      return [test, after === undefined ? { op: "remove", path } : { op: "replace", path, value: after }];
    });
}
