// Polls for updates of a part of the page while the page is visible. An element with data-poll (seconds) gets the event
// "poll" for htmx, until its replacement has no data-poll.

function tick() {
  for (const part of document.querySelectorAll("[data-poll]")) {
    const every = Number(part.dataset.poll) * 1000;
    if (document.hidden || Date.now() - (part.polledAt ?? (part.polledAt = Date.now())) < every) continue;
    part.polledAt = Date.now();
    htmx.trigger(part, "poll");
  }
}

setInterval(tick, 500);
