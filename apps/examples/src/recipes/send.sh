# Sends a message and waits for its end. URL and KEY come from the environment. Needs jq.
set -eu
api() {
  answer=$(curl -sS --fail-with-body --retry 3 -H "Authorization: Bearer $KEY" "$@") ||
    { echo "$answer" >&2; exit 1; }
}
field() { echo "$answer" | jq -r ".$1"; }

api "$URL/api/v2/messages" \
  -H "Content-Type: application/json" -H "Idempotency-Key: order-4711" \
  -d '{"to": {"phone": "+15550100002"}, "text": "Your order has left."}'

while [ "$(field status)" = queued ]; do
  sleep 0.2
  api "$URL/api/v2/messages/$(field id)"
done
field status
