// Shows a countdown and polls for the transfer. Hidden pages don't poll.

const seconds = 4;
const awaiting = ["open", "pending"]; // may still be paid; or has expired, but isn't marked as expired yet
const payment = () => document.querySelector("[data-payment]");
const isOver = () => !awaiting.includes(payment().dataset.payment);

function countDown() {
  const left = document.querySelector("[data-seconds-left]");
  if (!left) return;
  const until = performance.now() + left.dataset.secondsLeft * 1000; // the server's clock, not the payer's
  const timer = setInterval(show, 1000);
  show();

  function show() {
    const remaining = Math.max(0, Math.round((until - performance.now()) / 1000));
    const [hours, minutes] = [Math.floor(remaining / 3600), Math.floor(remaining / 60) % 60];
    const clock = [...(hours ? [hours] : []), minutes, remaining % 60].map((part) => String(part).padStart(2, "0"));
    left.textContent = `Waiting for your transfer: ${clock.join(":")} left`;
    left.hidden = false;
    if (!remaining || !left.isConnected) clearInterval(timer);
  }
}

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
countDown();
setTimeout(keepLooking, seconds * 1000);
