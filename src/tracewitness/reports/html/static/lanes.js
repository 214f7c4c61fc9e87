// A lane for the user and each agent, drawn beside the timeline; a transfer goes from one to the next.

const LANE = 16;
const MOST_LANES = 8;
const NO_LANE = -1;

/** Whose each event is: the agent that the recording names, else the one that the session was handed to last. */
class Lanes {
  constructor(run) {
    this.names = [];
    this.of = [];
    this.agent = "";
    if (run.read.kinds.includes("user")) this.lane("user");
    run.events.forEach((event, position) => this.of.push(this.laneOf(run, event, position)));
    this.targets = new Map(
      run.events.flatMap((event, position) =>
        run.read.kinds[position] === "transfer" ? [[position, this.lane(event.transfer)]] : [],
      ),
    );
    this.bounds();
  }

  laneOf(run, event, position) {
    const kind = run.read.kinds[position];
    const call = run.read.answers[position];
    if (kind === "user") return this.lane("user");
    if (kind === "system") return NO_LANE;
    const named = typeof event?.by === "string" && event.by;
    if (!named && kind === "result" && call !== undefined) return this.of[call];
    // What ends an agent's part, and what nobody said, stands with whoever was there last.
    const last = this.of.findLast((lane) => lane !== NO_LANE && this.names[lane] !== "user");
    const found =
      named || kind === "agent" || kind === "call" || last === undefined
        ? this.lane(named || this.agent || "agent")
        : last;
    if (kind === "transfer") this.lane((this.agent = event.transfer));
    return found;
  }

  lane(name) {
    const known = this.names.indexOf(name);
    if (known >= 0) return known;
    if (this.names.length >= MOST_LANES) return MOST_LANES - 1;
    return this.names.push(name) - 1;
  }

  /** Between which events each lane is drawn. */
  bounds() {
    this.first = [];
    this.last = [];
    const seen = (lane, position) => {
      this.first[lane] ??= position;
      this.last[lane] = position;
    };
    this.of.forEach((lane, position) => {
      if (lane !== NO_LANE) seen(lane, position);
      if (this.targets.has(position)) seen(this.targets.get(position), position);
    });
  }

  get width() {
    return this.names.length * LANE;
  }

  get several() {
    return this.names.filter((name) => name !== "user").length > 1;
  }

  x(lane) {
    return lane * LANE + LANE / 2;
  }

  /** The piece of all lanes beside the events from one position to another. */
  rail(from, to) {
    const y = 15;
    const lines = this.names.flatMap((_, lane) => {
      if (this.first[lane] > to || this.last[lane] < from) return [];
      const begins = this.first[lane] >= from ? y : 0;
      const ends = this.last[lane] <= to ? y : "100%";
      return [svg("line", { class: `lane-${lane}`, x1: this.x(lane), x2: this.x(lane), y1: begins, y2: ends })];
    });
    const lane = this.of[from];
    const target = this.targets.get(from);
    return svg(
      "svg",
      { class: "rail", width: this.width, height: "100%", "aria-hidden": "true" },
      lines,
      target !== undefined &&
        target !== lane && [
          svg("line", { class: `lane-${target}`, x1: this.x(lane), x2: this.x(target), y1: y, y2: y }),
          svg("circle", { class: `lane-${target}`, cx: this.x(target), cy: y, r: 4 }),
        ],
      lane !== NO_LANE && svg("circle", { class: `lane-${lane}`, cx: this.x(lane), cy: y, r: 4 }),
    );
  }

  legend() {
    return el(
      "ul",
      { class: "lanes", "aria-label": "Lanes" },
      this.names.map((name, lane) =>
        el(
          "li",
          {},
          svg(
            "svg",
            { width: 10, height: 10, "aria-hidden": "true" },
            svg("circle", { class: `lane-${lane}`, cx: 5, cy: 5, r: 4 }),
          ),
          ` ${shortened(name, 40)}`,
        ),
      ),
    );
  }
}
