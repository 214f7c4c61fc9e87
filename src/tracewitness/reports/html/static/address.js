// What is shown stands in the address, so that it can be sent, marked and gone back from.

const KEYS = ["status", "case", "tag", "operator", "broken", "tool", "q", "sort", "view", "page", "run"];
const FILTERS = ["status", "case", "tag", "operator", "broken", "tool", "q"];

function stateOf(address) {
  const found = new URLSearchParams(address.replace(/^#/, ""));
  return Object.fromEntries(KEYS.map((key) => [key, found.get(key) ?? ""]));
}

function addressOf(state) {
  const parameters = new URLSearchParams();
  for (const key of KEYS) if (state[key]) parameters.set(key, state[key]);
  return `#${parameters}`;
}

let state = stateOf(location.hash);

/** The address of what is shown now with some of it changed. A change of the filter begins at the first page. */
function addressWith(change) {
  const page = Object.keys(change).some((key) => key !== "page" && key !== "run") ? { page: "" } : {};
  return addressOf({ ...state, ...page, ...change });
}

/** Show something else. It gets an entry of its own in the browser's history unless it replaces what is shown. */
function go(change, replaces = false) {
  const address = addressWith(change);
  if (replaces) location.replace(address);
  else location.hash = address;
}

function link(change, label, properties = {}) {
  return el("a", { ...properties, href: addressWith(change) }, label);
}
