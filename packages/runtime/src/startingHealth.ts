/**
 * Health while the service is being built, which takes long when tables must be brought up to date:
 * the process runs, and is not ready (contract: Open paths). Every other request waits.
 */
import type { RequestListener } from "node:http"

const answers: Readonly<Record<string, readonly [status: number, word: string]>> = {
  "/health/live": [200, "ok"],
  "/health/ready": [503, "unavailable"],
}

/** The listener for a request about health; undefined for any other. */
export const startingHealth = (
  method: string | undefined,
  target: string | undefined,
): RequestListener | undefined => {
  const answer = answers[(target ?? "").split("?", 1)[0] ?? ""]
  if (answer === undefined || (method !== "GET" && method !== "HEAD")) return undefined
  const [status, word] = answer
  return (_, response) => {
    const body = JSON.stringify({ status: word })
    response
      .writeHead(status, {
        "content-type": "application/json",
        "content-length": body.length,
        "cache-control": "no-store",
      })
      .end(method === "HEAD" ? undefined : body)
  }
}
