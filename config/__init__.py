"""Settings, URLs and processes. Imports every app; no app imports it."""
