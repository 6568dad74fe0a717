#!/usr/bin/env bash
# Tell whether a webhook is genuine.
#
# WEBHOOK_HASH_KEY=whk_... bash verify.sh SIGNATURE < body
#
# For manual checks: bash does not compare in constant time, and the key is seen in the list of processes
# while openssl runs.
set -euo pipefail

expected=$(openssl dgst -sha256 -hmac "$WEBHOOK_HASH_KEY" -r | cut -d ' ' -f 1)

if [ "$1" = "$expected" ]; then
  echo valid
else
  echo invalid
  exit 1
fi
