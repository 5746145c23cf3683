/**
 * Mounted in Next: this route answers everything below `/messaging`. `next.config` must leave the
 * package out of the bundle: `serverExternalPackages: ["@messaging-service/service"]`.
 */
import { open } from "@messaging-service/service"
import type { Messaging } from "@messaging-service/service"

/**
 * Next may load this file more than once; the process has one service, opened by the first request.
 */
const kept = globalThis as typeof globalThis & { messaging?: Promise<Messaging> | undefined }

const service = (): Promise<Messaging> => {
  kept.messaging ??= open({
    http: { basePath: "/messaging", operatorToken: process.env["OPERATOR_TOKEN"] },
  }).catch((error: unknown) => {
    // The next request tries again.
    kept.messaging = undefined
    throw error
  })
  return kept.messaging
}

const answer = async (request: Request): Promise<Response> => (await service()).handler(request)

export {
  answer as DELETE,
  answer as GET,
  answer as HEAD,
  answer as PATCH,
  answer as POST,
  answer as PUT,
}
