// When things happened, where the recording says so.

/** Seconds of a time in a recording: a number, its digits, or ISO 8601. */
function timeOf(value) {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !value) return null;
  const found = /^[\d.]+$/.test(value) ? Number(value) : Date.parse(value) / 1000;
  return Number.isFinite(found) ? found : null;
}

/** The times of a run: when each event began, how long calls took, and the span of all. */
class Clock {
  constructor(run) {
    this.begins = run.events.map((event) => timeOf(event?.at));
    this.spans = new Map();
    for (const [result, call] of Object.entries(run.read.answers)) {
      const [from, until] = [this.begins[call], timeOf(run.events[call].until) ?? this.begins[result]];
      if (from !== null && until !== null && until >= from) this.spans.set(call, [from, until]);
    }
    run.events.forEach((event, position) => {
      const until = timeOf(event?.until);
      const from = this.begins[position];
      if (run.read.kinds[position] === "call" && from !== null && until !== null && until >= from)
        this.spans.set(position, [from, until]);
    });
    const known = [...this.begins.filter((time) => time !== null), ...[...this.spans.values()].flat()];
    this.start = known.reduce((one, other) => Math.min(one, other), Infinity);
    this.end = known.reduce((one, other) => Math.max(one, other), -Infinity);
  }

  get known() {
    return this.spans.size > 0 && this.end > this.start;
  }

  share(time) {
    return (time - this.start) / (this.end - this.start);
  }

  since(position) {
    return this.begins[position] === null ? "" : `+${seconds(this.begins[position] - this.start)}`;
  }

  took(position) {
    const span = this.spans.get(position);
    return span ? seconds(span[1] - span[0]) : "";
  }

  /** A bar that shows when a call ran, to the scale of the whole run. */
  bar(position, failed) {
    const span = this.spans.get(position);
    if (!span || !this.known) return null;
    const [from, until] = span.map((time) => 100 * this.share(time));
    return svg(
      "svg",
      { class: "span", width: "100%", height: 6, "aria-hidden": "true" },
      svg("rect", { class: "track", width: "100%", height: 6, rx: 3 }),
      svg("rect", {
        class: failed ? "bad" : "good",
        x: `${from}%`,
        width: `${Math.max(until - from, 0.6)}%`,
        height: 6,
        rx: 2,
      }),
    );
  }
}

const ROW = 14;

/** All calls of a run to scale, those at once in rows below each other. The timeline has the same in words. */
function callsToScale(run, clock, jump) {
  if (!clock.known) return null;
  const free = [];
  const bars = [...clock.spans]
    .sort(([, one], [, other]) => one[0] - other[0])
    .map(([position, [from, until]]) => {
      let at = free.findIndex((time) => time <= from);
      if (at < 0) at = free.length;
      free[at] = until;
      return { position, from: clock.share(from), width: clock.share(until) - clock.share(from), at };
    });
  const whole = clock.end - clock.start;
  const label = `${plural(bars.length, "call")} over ${seconds(whole)}, up to ${free.length} at once`;
  const height = free.length * ROW + 4;
  const chart = svg(
    "svg",
    { class: "scale", width: "100%", height, role: "img", "aria-label": label },
    bars.map((bar) => callBar(run, clock, bar, jump)),
  );
  return el(
    "figure",
    { class: "scaled" },
    chart,
    el("figcaption", { class: "hint" }, el("span", {}, "0 s"), el("span", {}, label), el("span", {}, seconds(whole))),
  );
}

function callBar(run, clock, { position, from, width, at }, jump) {
  const failed = run.failed.has(position);
  return svg(
    "rect",
    {
      class: failed ? "bad" : "good",
      x: `${100 * from}%`,
      y: at * ROW + 2,
      width: `${Math.max(100 * width, 0.5)}%`,
      height: ROW - 4,
      rx: 2,
      data: { position },
      on: { click: () => jump(position) },
    },
    svg("title", {}, `${position}: ${shortened(run.events[position].call, 60)}, ${clock.took(position)}`),
  );
}
