<?php
// Receive webhooks on this machine: check the signature, drop repetitions, answer, then act.
//
// WEBHOOK_HASH_KEY=whk_... php -S 127.0.0.1:9000 receiver.php

declare(strict_types=1);

require __DIR__ . '/verify.php';

/** Note an event. Return false if it was noted before. In a real service: a database column that is unique. */
function is_new(string $eventId): bool
{
    $folder = sys_get_temp_dir() . '/sluice-events';
    @mkdir($folder);
    return @fopen("$folder/" . hash('sha256', $eventId), 'x') !== false; // fails if the file exists
}

$body = file_get_contents('php://input');
if (!is_genuine(getenv('WEBHOOK_HASH_KEY'), $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '', $body)) {
    http_response_code(400);
    error_log('refused: wrong signature');
    exit;
}
$event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
http_response_code(204);
if (is_new($event['event_id'])) {
    $data = $event['data'] + ['reference' => '', 'status' => '', 'response_summary' => ''];
    error_log("{$event['event']} {$data['reference']} {$data['status']} {$data['response_summary']}");
}
