// The database of this browser: opened once, six verbs. Knows stores and keys, not what is in them.

const NAME = "ignis";
const VERSION = 2;
/** So long nobody waits for what is only to be kept. What opens after it is used from then on. */
const OPEN_MS = 10_000;

/** @type {Promise<IDBDatabase> | null} */
let opening = null;
let isCleared = false;
/** What keeps anew what the page still has. @type {() => unknown} */
let renew = () => {};

/** @param {() => unknown} work is done when a database that was cleared under the page is opened again, before anything else is */
export function whenCleared(work) {
  renew = work;
}

export function open() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = ({ oldVersion }) => lay(request, oldVersion);
    const timer = setTimeout(() => reject(new Error("it does not open its database")), OPEN_MS);
    request.onsuccess = () => {
      clearTimeout(timer);
      const database = request.result;
      // A newer page in another tab wants to upgrade: it may, and this one is told at its next write.
      database.onversionchange = ({ newVersion }) => (database.close(), newVersion === null && clear());
      database.onclose = clear;
      opening = Promise.resolve(database);
      if (isCleared) renew();
      isCleared = false;
      resolve(database);
    };
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another tab has an older page open"));
  });
  return opening;
}

/** What was in it is gone; the next that is kept goes into another one. */
function clear() {
  opening = null;
  isCleared = true;
}

/** What each version has more than the one before. @param {IDBOpenDBRequest} request @param {number} before the version that there was */
function lay({ result: database, transaction }, before) {
  if (before < 1) layFirst(database);
  // Only those that have it are in it.
  if (before < 2) transaction?.objectStore("conversations").createIndex("pinned", "pinned");
}

/** @param {IDBDatabase} database */
function layFirst(database) {
  database.createObjectStore("conversations", { keyPath: "id" }).createIndex("updated", "updated");
  database.createObjectStore("turns", { keyPath: "id" }).createIndex("conversation", "conversation");
  database.createObjectStore("pieces", { keyPath: ["turn", "n"] });
  database.createObjectStore("drafts", { keyPath: "conversation" });
  database.createObjectStore("blobs", { keyPath: "id" });
  database.createObjectStore("presets", { keyPath: "id" });
  database.createObjectStore("runs", { keyPath: "id" });
}

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
export function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * Runs work in one transaction and returns once it is committed. durability: relaxed is safe against the death of the
 * browser, strict against the power's too.
 * @param {string[]} stores
 * @param {(store: (name: string) => IDBObjectStore) => void} work
 * @param {"relaxed" | "strict"} [durability]
 */
export async function write(stores, work, durability = "relaxed") {
  const database = await open();
  const transaction = database.transaction(stores, "readwrite", { durability });
  const ended = new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(undefined);
    transaction.onabort = () => reject(transaction.error);
  });
  work((name) => transaction.objectStore(name));
  transaction.commit();
  await ended;
}

/** @param {string} store @param {IDBValidKey} key @returns {Promise<any>} */
export async function get(store, key) {
  return result((await open()).transaction(store).objectStore(store).get(key));
}

/** @param {string} store @param {unknown} value */
export function put(store, value) {
  return write([store], (at) => at(store).put(value));
}

/** @param {string} store @param {string} index @param {IDBValidKey} key @returns {Promise<any[]>} */
export async function byIndex(store, index, key) {
  return result((await open()).transaction(store).objectStore(store).index(index).getAll(key));
}

/** @param {string} store @param {IDBKeyRange} range @returns {Promise<any[]>} */
export async function inRange(store, range) {
  return result((await open()).transaction(store).objectStore(store).getAll(range));
}
