// Refuses a file that is too large before it is sent. The server refuses it too.

for (const field of document.querySelectorAll("input[type=file][data-largest]")) {
  field.addEventListener("change", () => {
    const isLarge = [...field.files].some((file) => file.size > Number(field.dataset.largest));
    field.setCustomValidity(isLarge ? "Choose a file of at most 4 MiB." : "");
    field.reportValidity();
  });
}
