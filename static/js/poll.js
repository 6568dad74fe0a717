// Lets a part of the page ask for its newer self, as long as somebody looks at it.
// An element with data-poll (seconds) gets the event "poll" for htmx; once it comes back without, it rests.

function tick() {
  for (const part of document.querySelectorAll("[data-poll]")) {
    const every = Number(part.dataset.poll) * 1000;
    if (document.hidden || Date.now() - (part.polledAt ?? (part.polledAt = Date.now())) < every) continue;
    part.polledAt = Date.now();
    htmx.trigger(part, "poll");
  }
}

setInterval(tick, 500);
