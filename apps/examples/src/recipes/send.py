# Sends a message and waits for its end. URL and KEY come from the environment.
import json
import os
import time
import urllib.error
import urllib.request


def api(path, body=None, **headers):
    request = urllib.request.Request(os.environ["URL"] + path)
    request.add_header("Authorization", "Bearer " + os.environ["KEY"])
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        error = json.load(refusal)["error"]
        raise SystemExit(f'{error["code"]}: {error["message"]}')


order = {"to": {"phone": "+15550100002"}, "text": "Your order has left."}
message = api("/api/v2/messages", order, Idempotency_Key="order-4711")
while message["status"] == "queued":
    time.sleep(0.2)
    message = api(f'/api/v2/messages/{message["id"]}')
print(message["status"])
