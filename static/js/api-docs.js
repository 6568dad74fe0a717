// Shows the API's description. Calls cannot be tried out here: they are signed over their exact bytes.

const place = document.getElementById("api-docs");

// Swagger UI has dark colours, but follows a class and not the system.
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
  validatorUrl: null, // ours is validated before it is served; nobody else is asked
});
