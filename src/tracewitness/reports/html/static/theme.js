// Light or dark: as the system has it, until somebody chooses.

const DARK = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try {
    return localStorage.getItem("tracewitness-theme");
  } catch {
    return null; // a page that was opened from disk may have no storage
  }
}

function remember(theme) {
  try {
    localStorage.setItem("tracewitness-theme", theme);
  } catch {
    // then it is chosen for as long as the page is open
  }
}

function currentTheme() {
  return document.documentElement.dataset.theme ?? (DARK.matches ? "dark" : "light");
}

function labelTheme() {
  fill(byId("theme"), currentTheme() === "dark" ? "Light" : "Dark", unseen(" theme"));
}

function startTheme() {
  const theme = remembered();
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  labelTheme();
  DARK.addEventListener("change", labelTheme);
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = currentTheme() === "dark" ? "light" : "dark";
    remember(currentTheme());
    labelTheme();
  });
}
