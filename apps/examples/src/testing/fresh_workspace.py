# What each test begins with: a workspace of its own, with a number and a key. URL and OPERATOR_TOKEN come
# from the environment.
import json
import os
import urllib.request


def call(path, token, body=None):
    request = urllib.request.Request(os.environ["URL"] + path)
    request.add_header("Authorization", "Bearer " + token)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def fresh_workspace():
    token = os.environ["OPERATOR_TOKEN"]
    workspace = call("/admin/v1/workspaces", token, {"name": "Test"})["id"]
    inside = f"/admin/v1/workspaces/{workspace}"
    number = {"platform": "whatsapp", "phone": "+15550100001"}
    number = call(inside + "/numbers", token, number)["id"]
    key = call(inside + "/keys", token, {"version": 2, "name": "Test"})["key"]
    return workspace, number, key


for test in ["one", "another"]:
    workspace, number, key = fresh_workspace()
    call("/api/v2/messages", key, {"to": {"phone": "+15550100002"}, "text": "Hello"})
    call("/admin/v1/simulator/settle", os.environ["OPERATOR_TOKEN"], {})
    sent = call(f"/admin/v1/simulator/sent?workspace_id={workspace}", os.environ["OPERATOR_TOKEN"])
    print(test, len(sent["data"]))
