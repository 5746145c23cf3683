/**
 * Media over TLS: sealed files are uploaded with the media connection's token, and downloaded from the path
 * in the upload's answer.
 */
import { createServer } from "node:https"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Certificate } from "./certificate.ts"
import type { ServerState } from "./ServerState.ts"

/** The media connection's token, which every upload needs. */
export const uploadAuth = "loopback"

const readAll = async (request: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const answer = (response: ServerResponse, status: number, body: object) => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

const takeUpload = async (
  state: ServerState,
  request: IncomingMessage,
  response: ServerResponse,
) => {
  const url = new URL(request.url ?? "/", `https://${request.headers.host ?? "127.0.0.1"}`)
  const sealed = await readAll(request)
  const refused = state.orders.refusal("upload")
  if (refused !== undefined) return answer(response, refused, { error: refused })
  if (url.searchParams.get("auth") !== uploadAuth) return answer(response, 401, { error: 401 })
  const path = `/o1/v/${url.searchParams.get("token") ?? ""}`
  state.media.set(path, sealed)
  state.changed()
  answer(response, 200, { url: `https://${url.host}${path}`, direct_path: path })
}

const giveFile = (state: ServerState, request: IncomingMessage, response: ServerResponse) => {
  const path = request.url ?? ""
  const file = state.media.get(path)
  const ended = state.endedLinks.get(path)
  if (file === undefined || ended !== undefined) {
    return answer(response, ended ?? 404, { error: ended ?? 404 })
  }
  response.writeHead(200, { "content-type": "application/octet-stream" })
  response.end(file)
}

export const makeMediaServer = (state: ServerState, { cert, key }: Certificate) =>
  createServer({ cert, key }, (request, response) => {
    if (request.method === "POST") {
      takeUpload(state, request, response).catch((error: unknown) => {
        // A client that was killed meanwhile breaks it off, without an unknown request.
        if (request.complete) state.complaints.push(`an upload failed: ${String(error)}`)
      })
    } else {
      giveFile(state, request, response)
    }
  })
