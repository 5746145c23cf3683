/** Uploads a file, and tells how far it is, which `fetch` cannot. */
import type { MediaFile } from "@messaging-service/client"
import { base } from "./base.ts"
import { Refused, readAnswer } from "./call.ts"
import { sessionHeaders } from "./sessionKind.ts"

export interface FileUpload {
  readonly workspaceId: number
  readonly file: File
  readonly mode: "live" | "test"
  /** The same for each try: the service then stores the file once. */
  readonly idempotencyKey: string
  /** From 0 to 1. */
  readonly progress?: (share: number) => void
}

const refused = (request: XMLHttpRequest): Refused => {
  const { error = {} } = (request.response ?? {}) as { error?: { code?: string; message?: string } }
  const headers = new Headers()
  for (const name of ["x-request-id", "retry-after"])
    headers.set(name, request.getResponseHeader(name) ?? "")
  return new Refused(new Response(null, { status: request.status, headers }), error)
}

export const upload = ({
  file,
  idempotencyKey,
  mode,
  progress,
  workspaceId,
}: FileUpload): Promise<MediaFile> =>
  new Promise((resolve, reject) => {
    const form = new FormData()
    form.append("file", file, file.name)
    const request = new XMLHttpRequest()
    request.open("POST", `${base}admin/v1/workspaces/${workspaceId}/media?mode=${mode}`)
    request.responseType = "json"
    const headers = { ...sessionHeaders(), "idempotency-key": idempotencyKey }
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.addEventListener("progress", ({ loaded, total }) => progress?.(loaded / total))
    request.addEventListener("error", () => reject(new TypeError("no answer")))
    request.addEventListener("load", () => {
      if (request.status !== 201) return reject(refused(request))
      try {
        resolve(readAnswer("POST /admin/v1/workspaces/{id}/media", request.response))
      } catch (error) {
        reject(error)
      }
    })
    request.send(form)
  })

/** A stored file's link below this page's own origin: the service's may name another. */
export const ownLink = (url: string): string =>
  base + new URL(url).pathname.split("/").slice(-3).join("/")
