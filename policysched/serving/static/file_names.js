// Short names of files, without the path that all of them share.

/** Returns the short name of each file by its name: without the folders that all of them are in. */
export function shortenNames(names) {
  const folders = names.map((name) => name.split("/").slice(0, -1));
  const shared = folders.reduce(keepShared, folders[0] ?? []).length;
  return Object.fromEntries(names.map((name) => [name, name.split("/").slice(shared).join("/")]));
}

function keepShared(shared, folders) {
  const end = shared.findIndex((folder, index) => folder !== folders[index]);
  return end < 0 ? shared : shared.slice(0, end);
}
