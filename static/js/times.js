// Updates relative times ("3 minutes ago"), and shows the times of payer pages in the browser's time zone.

const minute = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
const thisYear = new Date().getFullYear();
const distances = new Intl.RelativeTimeFormat("en", { numeric: "always" });
const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function moment(at) {
  return at.toLocaleString("en-GB", at.getFullYear() === thisYear ? minute : { ...minute, year: "numeric" });
}

function distance(at) {
  const seconds = Math.round((at - Date.now()) / 1000);
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || units.at(-1);
  return seconds ? distances.format(Math.trunc(seconds / size), unit) : "now";
}

function show(scope) {
  for (const time of scope.querySelectorAll("time[data-shown]")) {
    const at = new Date(time.dateTime);
    time.textContent = time.dataset.shown === "minute" ? moment(at) : distance(at);
  }
}

show(document);
setInterval(() => document.hidden || show(document), 5000);
document.addEventListener("htmx:afterSwap", () => show(document));
