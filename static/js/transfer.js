// Polls for the transfer. Hidden pages don't poll.

const seconds = 4;
const awaiting = ["open", "pending"]; // may still be paid; or has expired, but isn't marked as expired yet
const payment = () => document.querySelector("[data-payment]");
const isOver = () => !awaiting.includes(payment().dataset.payment);

async function look() {
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("[data-payment]");
  if (!fresh || fresh.dataset.payment === payment().dataset.payment) return;
  payment().replaceWith(fresh);
  document.title = page.title;
}

async function keepLooking() {
  if (isOver()) return;
  if (!document.hidden) await look().catch(() => {}); // on a network error, try again later
  setTimeout(keepLooking, seconds * 1000);
}

document.addEventListener("visibilitychange", () => document.hidden || isOver() || look().catch(() => {}));
setTimeout(keepLooking, seconds * 1000);
