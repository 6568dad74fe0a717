"""Settings, the HTTP surface and the processes. Imports every app; no app imports it."""
