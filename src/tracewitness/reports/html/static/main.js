// The page begins here, and follows the address.

let places = { list: 0, opened: null };

function showAddress() {
  const before = state;
  state = stateOf(location.hash);
  const number = Number(state.run);
  if (Number.isInteger(number) && number >= 1 && number <= index.count) {
    if (!before.run || byId("opened").hidden) places.list = window.scrollY;
    places.opened = number;
    startSearch();
    showRun(number);
  } else showAll();
}

function showAll() {
  opening++;
  const back = !byId("opened").hidden;
  byId("opened").hidden = true;
  byId("overview").hidden = byId("runs").hidden = byId("notices").hidden = false;
  document.title = visible(
    shortened(`${percent(report.results.passed, report.results.decided)} – ${report.suite || "report"}`, 120),
  );
  showRuns();
  if (!back) return;
  fill(byId("opened"));
  window.scrollTo(0, places.list);
  byId(`run-${places.opened}`)?.focus({ preventScroll: true });
}

/** What is folded would be lost on paper. */
function unfoldForPrint() {
  const shown = byId("opened").hidden ? byId("overview") : byId("opened");
  unfoldAll(shown);
  for (const long of shown.querySelectorAll(".long")) long.showAll();
}

function moveBetweenRuns(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea")) return;
  if (byId("opened").hidden) {
    if (event.key === "/") {
      event.preventDefault();
      byId("q").focus();
    }
    return;
  }
  const to = { j: '[rel="next"]', k: '[rel="prev"]', Escape: ".back", "/": "#find" }[event.key];
  const target = to && byId("opened").querySelector(to);
  if (!target) return;
  event.preventDefault();
  if (event.key === "/") target.focus();
  else location.hash = target.hash;
}

async function start() {
  startTheme();
  byId("skip").addEventListener("click", () => byId("main").focus());
  showHead();
  showOverview();
  if (typeof DecompressionStream === "undefined") {
    fill(byId("notices"), el("p", { class: "notice" }, "This browser can't unpack the runs. A newer one can."));
    return;
  }
  await loadIndex();
  buildFilter();
  byId("runs").hidden = false;
  addEventListener("hashchange", showAddress);
  addEventListener("keydown", moveBetweenRuns);
  addEventListener("beforeprint", unfoldForPrint);
  showAddress();
  document.documentElement.dataset.ready = "";
}

start();
