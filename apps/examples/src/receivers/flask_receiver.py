import hashlib
import hmac
import json
import re
import time

from flask import Flask, request


def verify_webhook(secret, timestamp, signature, body):
    """Whether a webhook is to be trusted; `body` is the raw request body, as bytes."""
    if re.fullmatch(r"[0-9]{1,15}", timestamp) is None:
        return False
    if abs(time.time() - int(timestamp)) > 300:
        return False
    signed = timestamp.encode() + b"." + body
    expected = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


def receiver(secret, handle):
    app = Flask(__name__)

    @app.post("/events")
    def events():
        body = request.get_data()
        timestamp = request.headers.get("Service-Timestamp", "")
        signature = request.headers.get("Service-Signature", "")
        if not verify_webhook(secret, timestamp, signature, body):
            return "signature_mismatch", 400
        handle(json.loads(body))
        return "", 204

    return app
