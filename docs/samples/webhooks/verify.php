<?php
// Tell whether a webhook is genuine.
//
// WEBHOOK_HASH_KEY=whk_... php verify.php SIGNATURE < body

declare(strict_types=1);

/** Compare the X-Service-Signature header with our own, in constant time. */
function is_genuine(string $hashKey, string $signature, string $body): bool
{
    return hash_equals(hash_hmac('sha256', $body, $hashKey), $signature);
}

if (PHP_SAPI === 'cli') {
    $genuine = is_genuine(getenv('WEBHOOK_HASH_KEY'), $argv[1], stream_get_contents(STDIN));
    echo $genuine ? "valid\n" : "invalid\n";
    exit($genuine ? 0 : 1);
}
