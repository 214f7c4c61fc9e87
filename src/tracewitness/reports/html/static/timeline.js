// What happened, in order: turns, messages, calls with what they returned, transfers, the end.

/** The blocks of a timeline: one event, or calls that ran at once with their results. */
function blocksOf(run) {
  const { kinds, answers } = run.read;
  const blocks = [];
  let group = null;
  kinds.forEach((kind, position) => {
    if (kind === "call") {
      const open = group && group.calls.some((call) => !group.results.has(call));
      if (!open) blocks.push((group = { calls: [], results: new Map(), from: position }));
      group.calls.push(position);
      group.to = position;
    } else if (kind === "result" && group?.calls.includes(answers[position])) {
      group.results.set(answers[position], position);
      group.to = position;
    } else {
      group = null;
      blocks.push({ from: position, to: position });
    }
  });
  return blocks;
}

/** Draws the timeline of a run; events are found again by their position. */
class Timeline {
  constructor(run, citing) {
    this.run = run;
    this.citing = citing;
    this.clock = new Clock(run);
    this.lanes = new Lanes(run);
    this.elements = new Map();
    this.marks = missesByPosition(run);
    this.later = new Map(Object.entries(run.read.answers).map(([result, call]) => [call, Number(result)]));
  }

  build() {
    const list = el("ol", { class: "timeline" });
    list.style.setProperty("--lanes", `${this.lanes.width}px`);
    let turn = null;
    for (const block of blocksOf(this.run)) {
      const at = this.run.read.turns[block.from];
      if (at !== null && at !== turn) {
        if (at > 0) list.append(el("li", { class: "turn" }, this.between(block.from), el("h4", {}, `Turn ${at}`)));
        turn = at;
      }
      list.append(
        el(
          "li",
          { class: "block" },
          this.lanes.rail(block.from, block.to),
          block.calls ? this.calls(block) : this.single(block.from),
        ),
      );
    }
    return list;
  }

  /** The lanes beside a heading: those that go on. */
  between(position) {
    const lines = this.lanes.names.flatMap((_, lane) =>
      this.lanes.first[lane] < position && this.lanes.last[lane] >= position
        ? [svg("line", { class: `lane-${lane}`, x1: this.lanes.x(lane), x2: this.lanes.x(lane), y1: 0, y2: "100%" })]
        : [],
    );
    return svg("svg", { class: "rail", width: this.lanes.width, height: "100%", "aria-hidden": "true" }, lines);
  }

  calls(block) {
    const cards = block.calls.map((call) => this.call(call, block.results.get(call)));
    if (cards.length === 1) return cards[0];
    return el(
      "div",
      { class: "parallel" },
      el("p", { class: "hint" }, `${cards.length} calls at once`),
      el("div", { class: "side" }, cards),
    );
  }

  /** Keep the element of an event, and show which checks are about it. */
  event(position, kind, title, ...children) {
    const checks = (this.citing.get(position) ?? []).map(({ number, status, show }) =>
      button([el("span", { "aria-hidden": "true" }, RESULTS[status].mark), `${number}`], show, {
        class: `cite ${status}`,
        "aria-label": `Check ${number}, ${RESULTS[status].word}`,
        data: { check: number },
      }),
    );
    const since = this.clock.since(position);
    const element = el(
      "section",
      { class: `event ${kind}`, id: `event-${position}`, tabindex: "-1", "aria-label": `Event ${position}` },
      el(
        "header",
        {},
        title,
        el(
          "span",
          { class: "where" },
          checks,
          since && el("span", {}, since),
          el("span", { title: "Position in the trace" }, `#${position}`),
        ),
      ),
      children,
    );
    this.elements.set(position, element);
    return element;
  }

  speaker(position) {
    if (this.lanes.names[this.lanes.of[position]] === "agent") return "Agent";
    return shortened(this.lanes.names[this.lanes.of[position]], 60);
  }

  single(position) {
    const event = this.run.events[position];
    const kind = this.run.read.kinds[position];
    if (kind === "user" || kind === "agent" || kind === "system") return this.message(position, kind, event);
    if (kind === "result") return this.lateResult(position);
    if (kind === "transfer")
      return this.event(
        position,
        "transfer",
        el("strong", {}, "Transfer to ", el("code", {}, shortened(event.transfer, 80))),
        this.metadata(event),
      );
    if (kind === "end") return this.event(position, "end", el("strong", {}, "The session ended"), this.metadata(event));
    return this.event(
      position,
      "unread",
      el("strong", {}, "Unreadable event"),
      el("p", { class: "problem" }, this.run.read.unread[position] ?? ""),
      shownValue(event),
    );
  }

  message(position, kind, event) {
    const name = { system: "System", user: "User" }[kind] ?? this.speaker(position);
    return this.event(
      position,
      `message ${kind}`,
      el("strong", {}, name),
      el("div", { class: "said" }, longText(event[kind])),
      this.metadata(event),
    );
  }

  call(position, result) {
    const event = this.run.events[position];
    const failed = this.run.failed.has(position);
    const took = this.clock.took(position);
    const title = [
      el("code", { class: "tool" }, shortened(event.call, 120)),
      this.lanes.several && el("span", { class: "hint" }, ` by ${this.speaker(position)}`),
      failed && [" ", el("span", { class: "tag bad" }, "error")],
      took && el("span", { class: "hint" }, ` ${took}`),
    ];
    const later = this.later.get(position);
    return this.event(
      position,
      `call${failed ? " failed" : ""}`,
      title,
      this.clock.bar(position, failed),
      this.args(position, event),
      this.metadata(event),
      result === undefined
        ? el(
            "p",
            { class: "hint" },
            later === undefined
              ? "No result."
              : [
                  "Its result came later, at ",
                  button(`#${later}`, () => goToEvent(later), {
                    class: "quiet small",
                    "aria-label": `Go to event ${later}`,
                  }),
                ],
          )
        : this.result(position, result),
    );
  }

  args(position, event) {
    const marks = new Marks(this.marks.get(position) ?? [], "args");
    if (event.raw_args !== undefined && event.raw_args !== null) {
      return el("div", { class: "part" }, el("h5", {}, "Arguments, not readable"), scalar(event.raw_args));
    }
    return this.part("Arguments", event.args ?? {}, marks);
  }

  part(title, value, marks) {
    return el("div", { class: "part" }, el("h5", {}, title), shownValue(value, marks));
  }

  result(call, position) {
    const event = this.run.events[position];
    const title = el("h5", {}, event.is_error ? "Error" : "Result");
    return this.event(
      position,
      `result${event.is_error ? " failed" : ""}`,
      title,
      this.payload(position, event),
      this.metadata(event),
    );
  }

  payload(position, event) {
    const near = this.marks.get(position) ?? [];
    if (typeof event.raw_result === "string")
      return el("div", {}, el("p", { class: "problem" }, "Could not be decoded"), scalar(event.raw_result));
    return shownValue(event.result, new Marks(near, "result"));
  }

  lateResult(position) {
    const event = this.run.events[position];
    const call = this.run.read.answers[position];
    const of =
      call === undefined
        ? "a result that answers no call"
        : `result of #${call}, ${shortened(this.run.events[call].call, 80)}`;
    return this.event(
      position,
      `result late${event.is_error ? " failed" : ""}`,
      el("strong", {}, event.is_error ? "Error: " : "", of),
      this.payload(position, event),
      this.metadata(event),
    );
  }

  metadata(event) {
    const other = Object.entries(event?.metadata ?? {});
    return other.length > 0 && folded("Metadata", () => shownValue(event.metadata), false, { class: "metadata" });
  }
}

/** The differences of nearest misses, by the event that they are about; of checks that are not held. */
function missesByPosition(run) {
  const found = new Map();
  for (const { near_miss: near, status } of run.verdicts) {
    if (!near || status === "held") continue;
    found.set(near.position, [...(found.get(near.position) ?? []), ...near.differences]);
  }
  return found;
}
