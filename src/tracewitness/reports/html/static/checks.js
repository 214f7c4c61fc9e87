// What was decided of a run: steps, judged expectations and tool checks; checks point at their evidence.

function verdictList(title, id, items, counted) {
  return el(
    "section",
    { class: "decided", "aria-labelledby": id },
    el("h3", { id }, title, el("span", { class: "hint" }, ` ${counted}`)),
    el("ol", {}, items),
  );
}

function stepList(steps) {
  const reached = steps.filter((step) => step.status === "Completed").length;
  const item = (step) =>
    el(
      "li",
      { class: step.status === "Completed" ? "held" : "broken" },
      el(
        "p",
        {},
        sign(step.status === "Completed" ? "held" : "broken"),
        " ",
        el("strong", {}, longText(step.goal)),
        step.status !== "Completed" && el("span", { class: "hint" }, ` ${step.status}`),
      ),
      step.success_criteria && el("p", { class: "hint" }, "Success: ", longText(step.success_criteria)),
      step.justification && el("p", {}, longText(step.justification)),
    );
  return verdictList("Steps", "steps-title", steps.map(item), `${reached} of ${steps.length} reached`);
}

function judgedList(judged) {
  const met = judged.filter((each) => each.status === "Met").length;
  const item = (each) =>
    el(
      "li",
      { class: each.status === "Met" ? "held" : "broken" },
      el(
        "p",
        {},
        sign(each.status === "Met" ? "held" : "broken"),
        " ",
        el("strong", {}, longText(each.title || each.expectation)),
        each.status !== "Met" && each.status !== "Not Met" && el("span", { class: "hint" }, ` ${each.status}`),
      ),
      each.title && el("p", { class: "hint" }, longText(each.expectation)),
      each.justification && el("p", {}, longText(each.justification)),
      each.votes && folded("Votes", () => shownValue(each.votes)),
    );
  return verdictList("Judged", "judged-title", judged.map(item), `${met} of ${judged.length} met`);
}

/** Lights up in the timeline what a check is about, while it is pointed at or until another is. */
class Evidence {
  constructor(run) {
    this.run = run;
    this.kept = null;
    this.items = run.verdicts.map((verdict, number) => this.item(verdict, number));
  }

  positions(number) {
    const { evidence, near_miss: near } = this.run.verdicts[number];
    return [...new Set([...evidence, ...(near ? [near.position] : [])])];
  }

  /** The checks that are about each event. */
  citing() {
    const found = new Map();
    this.run.verdicts.forEach((verdict, number) => {
      for (const position of this.positions(number)) {
        const show = () => this.show(number);
        found.set(position, [...(found.get(position) ?? []), { number: number + 1, status: verdict.status, show }]);
      }
    });
    return found;
  }

  item(verdict, number) {
    const item = el(
      "li",
      {
        class: `check ${verdict.status}`,
        id: `check-${number + 1}`,
        on: { mouseenter: () => this.point(number), mouseleave: () => this.point(this.kept) },
      },
      button(
        [sign(verdict.status), " ", el("span", { class: "number" }, `${number + 1} `), shortened(verdict.label, 200)],
        () => this.keep(number),
        {
          class: "label",
          "aria-pressed": "false",
          on: { focus: () => this.point(number), blur: () => this.point(this.kept) },
        },
      ),
      el("p", {}, longText(verdict.justification)),
      verdict.status !== "held" && verdict.reason && el("p", { class: "reason" }, longText(verdict.reason)),
      verdict.near_miss && verdict.status !== "held" && this.nearest(verdict.near_miss),
      this.links(number, verdict),
    );
    return item;
  }

  /** Links to the evidence, and where the check is written. */
  links(number, { file, line }) {
    const positions = this.positions(number);
    const jump = (position) =>
      button(`#${position}`, () => this.jump(number, position), {
        class: "quiet small",
        "aria-label": `Go to event ${position}`,
      });
    if (!positions.length && !line) return null;
    return el(
      "p",
      { class: "links" },
      positions.length > 0 && [
        "Evidence ",
        positions.slice(0, 12).map(jump),
        positions.length > 12 && ` and ${positions.length - 12} more`,
      ],
      line && el("span", { class: "hint place" }, `${file ? `${shortened(file, 80)}:` : "line "}${line}`),
    );
  }

  nearest({ position, tool, differences }) {
    const line = (each) =>
      typeof each === "string"
        ? el("li", {}, each)
        : el("li", {}, el("code", {}, shortened(each.path, 120) || "value"), ": ", differenceOf(each));
    return el(
      "div",
      { class: "nearest" },
      el("p", { class: "hint" }, `Nearest: ${shortened(tool, 80)} at #${position}`),
      el("ul", {}, differences.map(line)),
    );
  }

  /** Light up the evidence of a check and bring it into view within the timeline; of none, light up nothing. */
  point(number) {
    for (const element of document.querySelectorAll(".lit")) element.classList.remove("lit", "held", "broken", "error");
    if (number === null) return;
    this.items[number].classList.add("lit");
    const status = this.run.verdicts[number].status;
    const elements = this.positions(number)
      .map((position) => byId(`event-${position}`))
      .filter(Boolean);
    for (const element of elements) element.classList.add("lit", status);
    if (elements.length) bringInto(byId("trace"), elements[0]);
  }

  /** Keep a check lit, or no longer; on a small screen, go to its evidence. */
  keep(number) {
    this.kept = this.kept === number ? null : number;
    this.items.forEach((item, at) =>
      item.querySelector(".label").setAttribute("aria-pressed", String(at === this.kept)),
    );
    this.point(this.kept);
    const [first] = this.positions(number);
    if (this.kept !== null && first !== undefined && !scrolls(byId("trace")))
      byId(`event-${first}`)?.scrollIntoView({ block: "center" });
  }

  jump(number, position) {
    if (this.kept !== number) this.keep(number);
    goToEvent(position);
  }

  /** Go to a check from an event that it is about. */
  show(number) {
    if (this.kept !== number) this.keep(number);
    const label = this.items[number].querySelector(".label");
    label.focus({ preventScroll: true });
    this.items[number].scrollIntoView({ block: "nearest" });
  }
}

function goToEvent(position) {
  const element = byId(`event-${position}`);
  if (!element) return;
  bringInto(byId("trace"), element);
  if (!scrolls(byId("trace"))) element.scrollIntoView({ block: "center" });
  element.focus({ preventScroll: true });
}

function scrolls(box) {
  return box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY === "auto";
}

/** Scroll a box, and nothing else, so that an element in it is seen. */
function bringInto(box, element) {
  if (!scrolls(box)) return;
  const outer = box.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  if (inner.top >= outer.top && inner.bottom <= outer.bottom) return;
  box.scrollTo({ top: box.scrollTop + inner.top - outer.top - Math.max(12, (outer.height - inner.height) / 3) });
}
