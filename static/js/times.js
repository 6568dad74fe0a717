// Updates relative times ("3 minutes ago"), and shows the times of payer pages in the browser's time zone.

const minute = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" };
const thisYear = new Date().getFullYear();
let distances; // made when needed, which isn't at once: it takes long
const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function moment(at) {
  return at.toLocaleString("en-GB", at.getFullYear() === thisYear ? minute : { ...minute, year: "numeric" });
}

function distance(at) {
  distances ??= new Intl.RelativeTimeFormat("en", { numeric: "always" });
  const seconds = Math.round((at - Date.now()) / 1000);
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) || units.at(-1);
  return seconds ? distances.format(Math.trunc(seconds / size), unit) : "now";
}

function show(shown, text) {
  for (const time of document.querySelectorAll(`time[data-shown="${shown}"]`)) {
    time.textContent = text(new Date(time.dateTime));
  }
}

show("minute", moment);
setInterval(() => document.hidden || show("distance", distance), 5000);
