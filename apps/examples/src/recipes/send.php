<?php
// Sends a message and waits for its end. URL and KEY come from the environment.
function api(string $path, ?array $body = null, array $headers = []): array {
    $headers[] = 'Authorization: Bearer ' . getenv('KEY');
    $headers[] = 'Content-Type: application/json';
    $http = ['header' => $headers, 'ignore_errors' => true, 'timeout' => 30];
    if ($body !== null) $http += ['method' => 'POST', 'content' => json_encode($body)];
    $text = file_get_contents(getenv('URL') . $path, false, stream_context_create(['http' => $http]));
    if ($text === false) throw new RuntimeException('no answer');
    $answer = json_decode($text, true);
    $error = $answer['error'] ?? null;
    if (isset($error['request_id'])) throw new RuntimeException($error['code'] . ': ' . $error['message']);
    return $answer;
}

$order = ['to' => ['phone' => '+15550100002'], 'text' => 'Your order has left.'];
$message = api('/api/v2/messages', $order, ['Idempotency-Key: order-4711']);
while ($message['status'] === 'queued') {
    usleep(200_000);
    $message = api('/api/v2/messages/' . $message['id']);
}
echo $message['status'], "\n";
