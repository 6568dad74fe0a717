// Waits for a payment: loads the page again when the state of the checkout has changed. Hidden pages don't ask.

const seconds = 4;
const waiting = document.querySelector("[data-state-address]");

async function look() {
  const answer = await fetch(waiting.dataset.stateAddress, { cache: "no-store" });
  if (!answer.ok) return;
  const { state } = await answer.json();
  if (state !== waiting.dataset.state) location.reload();
}

async function keepLooking() {
  if (!document.hidden) await look().catch(() => {}); // on a network error, try again later
  setTimeout(keepLooking, seconds * 1000);
}

document.addEventListener("visibilitychange", () => document.hidden || look().catch(() => {}));
setTimeout(keepLooking, seconds * 1000);
