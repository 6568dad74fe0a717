#!/usr/bin/env bash
# Print the headers that sign a request.
#
# SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... bash sign.sh METHOD TARGET < body
#
# The secret key is seen in the list of processes while openssl runs: for a machine of your own.
set -euo pipefail

timestamp=${SLUICE_TIMESTAMP:-$(date +%s)}
nonce=${SLUICE_NONCE:-$(openssl rand -hex 16)}
method=$(printf %s "$1" | tr a-z A-Z)
body_hash=$(openssl dgst -sha256 -r | cut -d ' ' -f 1)

signature=$(
  printf '%s\n%s\n%s\n%s\n%s' "$timestamp" "$nonce" "$method" "$2" "$body_hash" |
    openssl dgst -sha256 -hmac "$SLUICE_SECRET_KEY" -r | cut -d ' ' -f 1
)

cat <<HEADERS
X-Api-Key: $SLUICE_API_KEY
X-Timestamp: $timestamp
X-Nonce: $nonce
X-Signature: $signature
HEADERS
