// Renders the API reference. "Try it out" is off, because requests must be signed.

const place = document.getElementById("api-docs");

// Swagger UI switches to its dark theme by a class, not by the system setting.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followSystem);
followSystem();

SwaggerUIBundle({
  domNode: place,
  url: place.dataset.description,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  showCommonExtensions: true,
  supportedSubmitMethods: [],
  validatorUrl: null, // the document is validated by our tests, without external services
  // Swagger UI has a main landmark, and the page has one around it.
  onComplete: () => place.querySelector("main")?.setAttribute("role", "presentation"),
});
