// Scrolls the contents of the reference to the current page, which may be far down.

const here = document.querySelector(".contents [aria-current]");
const side = here.closest("[popover]");
const center = () => (side.scrollTop = here.offsetTop - side.clientHeight / 2);
center();
side.addEventListener("toggle", center);
