// Shows how long an account number still accepts a transfer.

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
    left.textContent = `${clock.join(":")} left`;
    left.hidden = false;
    if (!remaining || !left.isConnected) clearInterval(timer);
  }
}

countDown();
