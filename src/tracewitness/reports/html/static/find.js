// Search within one recording.

class Find {
  constructor(box, timeline) {
    this.box = box;
    this.timeline = timeline;
    this.hits = [];
    this.at = -1;
    this.input = el("input", {
      type: "search",
      id: "find",
      placeholder: "Find in this run",
      "aria-label": "Find in this run",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.told = el("span", { class: "hint", role: "status" });
    this.input.addEventListener(
      "input",
      later(() => this.find(this.input.value), 120),
    );
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    });
  }

  build() {
    const step = (by, label, mark) =>
      button(el("span", { "aria-hidden": "true" }, mark), () => this.step(by), { class: "quiet", "aria-label": label });
    return el(
      "div",
      { class: "find", role: "search", "aria-label": "This run" },
      this.input,
      step(-1, "Previous match", "↑"),
      step(1, "Next match", "↓"),
      this.told,
    );
  }

  find(text) {
    const needle = text.toLowerCase();
    this.hits = needle ? this.positions(needle) : [];
    this.at = -1;
    for (const position of this.hits) this.open(this.timeline.elements.get(position));
    for (const [position, element] of this.timeline.elements)
      element.classList.toggle("hit", this.hits.includes(position));
    highlight(
      needle,
      this.hits.map((position) => this.timeline.elements.get(position)),
    );
    fill(this.told, needle ? plural(this.hits.length, "event") : "");
    if (this.hits.length) this.step(1, false);
  }

  positions(needle) {
    const isIn = (text) => text.toLowerCase().includes(needle) || visible(text).toLowerCase().includes(needle);
    return this.timeline.run.events.flatMap((event, position) => (holds(event, isIn) ? [position] : []));
  }

  open(element) {
    unfoldAll(element);
    for (const long of element.querySelectorAll(".long")) long.showAll();
  }

  step(by, focus = true) {
    if (!this.hits.length) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    fill(this.told, `${this.at + 1} of ${plural(this.hits.length, "event")}`);
    const element = this.timeline.elements.get(this.hits[this.at]);
    bringInto(this.box, element);
    if (focus && !scrolls(this.box)) element.scrollIntoView({ block: "center" });
  }
}

/** Mark a text within elements; the elements are not changed. Browsers that can't do so show the events alone. */
function highlight(needle, elements) {
  if (!CSS.highlights) return;
  CSS.highlights.delete("found");
  if (!needle) return;
  const ranges = [];
  for (const element of elements) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) ranges.push(...rangesIn(walker.currentNode, needle));
  }
  CSS.highlights.set("found", new Highlight(...ranges.slice(0, 5000)));
}

function rangesIn(node, needle) {
  const text = node.data.toLowerCase();
  const found = [];
  if (text.length !== node.data.length) return found;
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    const range = new Range();
    range.setStart(node, at);
    range.setEnd(node, at + needle.length);
    found.push(range);
  }
  return found;
}
