// Elements are made by these functions alone. Strings become text; no string of the data is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function textNodes(text) {
  return pieces(text).map((piece) => {
    if (!piece.escape) return document.createTextNode(piece.text);
    const mark = document.createElement("span");
    mark.className = "escape";
    mark.textContent = piece.text;
    return mark;
  });
}

function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) parent.append(child);
    else parent.append(...textNodes(String(child)));
  }
  return parent;
}

function setAll(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : visible(value));
  }
  return element;
}

/** Make an element with attributes, listeners (`on`) and children; strings among the children are text. */
function el(name, properties = {}, ...children) {
  return append(setAll(document.createElement(name), properties), children);
}

function svg(name, properties = {}, ...children) {
  return append(setAll(document.createElementNS(SVG, name), properties), children);
}

function byId(id) {
  return document.getElementById(id);
}

function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

function button(label, click, properties = {}) {
  return el("button", { type: "button", ...properties, on: { ...properties.on, click } }, label);
}

function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

/** A part that is folded until it is opened; what is in it is made then. */
function folded(summary, make, open = false, properties = {}) {
  const details = el("details", { ...properties, open }, el("summary", {}, summary));
  const filled = () => {
    if (details.childElementCount === 1) append(details, [make()]);
  };
  if (open) filled();
  details.addEventListener("toggle", () => details.open && filled());
  details.unfold = () => {
    filled();
    details.open = true;
  };
  return details;
}

/** Open all that is folded in an element, also what is made by opening, level by level up to a bound. */
function unfoldAll(element, most = 2000) {
  let left = most;
  for (let found = [...element.querySelectorAll("details:not([open])")]; found.length && left > 0;) {
    for (const details of found) if (left-- > 0) (details.unfold ?? (() => (details.open = true)))();
    found = [...element.querySelectorAll("details:not([open])")];
  }
}

const RESULTS = {
  passed: { mark: "✓", word: "passed" },
  failed: { mark: "✗", word: "failed" },
  unreadable: { mark: "∅", word: "unreadable" },
  inconclusive: { mark: "?", word: "inconclusive" },
  infrastructure: { mark: "!", word: "infrastructure" },
  not_run: { mark: "–", word: "not run" },
  held: { mark: "✓", word: "held" },
  broken: { mark: "✗", word: "broken" },
  error: { mark: "!", word: "error" },
};

function badge(result, more = "") {
  const { mark, word } = RESULTS[result];
  return el("span", { class: `badge ${result}` }, el("span", { "aria-hidden": "true" }, mark), ` ${word}${more}`);
}

function sign(result) {
  return el(
    "span",
    { class: `sign ${result}` },
    el("span", { "aria-hidden": "true" }, RESULTS[result].mark),
    unseen(RESULTS[result].word),
  );
}
