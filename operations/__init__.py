"""What operators run and watch: health, metrics, doctor, support bundles, retention, and the administration's frame."""
