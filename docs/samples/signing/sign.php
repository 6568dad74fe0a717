<?php
// Print the headers that sign a request.
//
// SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... php sign.php METHOD TARGET < body

declare(strict_types=1);

/** Return the four headers. The target is path and query, exactly as they will be sent. */
function signed_headers(
    string $method,
    string $target,
    string $body,
    string $apiKey,
    string $secretKey,
    string $timestamp,
    string $nonce
): array {
    $text = implode("\n", [$timestamp, $nonce, strtoupper($method), $target, hash('sha256', $body)]);
    return [
        'X-Api-Key' => $apiKey,
        'X-Timestamp' => $timestamp,
        'X-Nonce' => $nonce,
        'X-Signature' => hash_hmac('sha256', $text, $secretKey),
    ];
}

if (PHP_SAPI === 'cli') {
    $headers = signed_headers(
        $argv[1],
        $argv[2],
        stream_get_contents(STDIN),
        getenv('SLUICE_API_KEY'),
        getenv('SLUICE_SECRET_KEY'),
        getenv('SLUICE_TIMESTAMP') ?: (string) time(),
        getenv('SLUICE_NONCE') ?: bin2hex(random_bytes(16))
    );
    foreach ($headers as $name => $value) {
        echo "$name: $value\n";
    }
}
